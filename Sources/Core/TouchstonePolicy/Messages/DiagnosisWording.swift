// Words a diagnosis for support staff. The console and the terminal show the same text.

extension LoginDiagnosis {
  /// - Parameter time: formats a time for the reader.
  public func text(in language: Language, time: (UnixTime) -> String) -> String {
    let words = language.wording
    let answer =
      switch self.answer {
      case .yes: words.yes(words.list(factors.map(words.name)), reportedAt: reportedAt.map(time))
      case .no: words.no
      case .unknown: words.unknown
      }
    return ([answer] + obstacles.map { $0.text(in: words, time: time) }).joined(separator: words.sentenceSeparator)
  }
}

extension UnixTime {
  /// The end of a lock is rounded up: a login at the minute that it is cut to would still be refused.
  fileprivate var roundedUpToMinute: UnixTime { UnixTime(seconds: (seconds + 60) / 60 * 60) }
}

extension LoginObstacle {
  fileprivate func text(in words: any Wording, time: (UnixTime) -> String) -> String {
    var statement = cause.text(in: words)
    if let until { statement = words.until(statement, time(until.roundedUpToMinute)) }
    if let since { statement = words.reported(statement, time(since)) }
    let sentence = words.sentence(words.list(factors.map(words.name)), statement)
    guard !remedies.isEmpty else { return sentence }
    return sentence + words.sentenceSeparator + words.helps(words.list(remedies.map { words.text($0) }))
  }
}

extension LoginObstacle.Cause {
  /// What is wrong, as a clause: "the device has no passcode of its own".
  public func text(in language: Language) -> String { text(in: language.wording) }

  fileprivate func text(in words: any Wording) -> String { words.text(self) }
}

/// A language's words for a diagnosis, and for the devices that it is about.
protocol DiagnosisWording: Sendable {
  var no: String { get }
  var unknown: String { get }
  /// - Parameter reportedAt: when the device reported the state on which the answer rests.
  func yes(_ factors: String, reportedAt: String?) -> String
  func name(_ factor: Factor) -> String
  func text(_ cause: LoginObstacle.Cause) -> String
  func text(_ remedy: LoginObstacle.Remedy) -> String
  /// - Parameter subject: the factors; empty: everything.
  func sentence(_ subject: String, _ statement: String) -> String
  func reported(_ statement: String, _ time: String) -> String
  func until(_ statement: String, _ time: String) -> String
  func helps(_ remedies: String) -> String
  func list(_ texts: [String]) -> String
  var deviceNames: DeviceNames { get }
}

/// How reports of a login name what a person logs in with.
package struct DeviceNames: Sendable {
  package var unnamedDevice: String
  package var passkey: String
  package var withoutDevice: String
  package var neverUsed: String
  /// - Parameter time: as the reader is shown it.
  package var lastUsed: @Sendable (_ time: String) -> String
}

extension Language {
  package var deviceNames: DeviceNames { wording.deviceNames }
}
