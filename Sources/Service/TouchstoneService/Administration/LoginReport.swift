// Whether a person can log in, in words: the console and the terminal show the same ones.

internal import Encodings
package import TouchstoneCodec
package import TouchstonePolicy

/// The sentences about one profile.
package struct LoginReport: Sendable {
  /// One way to log in: by a binding, or without any.
  package struct Entry: Sendable {
    package let diagnosis: V1.LoginDiagnosis
    /// `nil`: the profile alone.
    let binding: V1.Binding?
    let model: String
    /// False: the binding's device never reported its state, so its rules cannot be shown.
    package let isSeen: Bool
    /// Other bindings are shown beside it, which may have the same name.
    let isOneOfSeveral: Bool

    /// - Parameter time: as the reader's other times are shown.
    package func text(in language: Language = .default, time: (V1.Timestamp) -> String) -> String {
      diagnosis.text(in: language, time: time)
    }
  }

  package let entries: [Entry]

  /// More devices than these do not help in one view; an account has 16 by default.
  private static let maximumBindings = 16

  /// Shows the revoked bindings only if no other is left, and the profile alone only if that says more.
  package init(_ profile: V1.GetProfileResponse) {
    let active = profile.bindings.filter { $0.state == .active }
    let shown = (active.isEmpty ? profile.bindings : active).prefix(Self.maximumBindings)
    let ofBindings = shown.compactMap { binding -> Entry? in
      let diagnosis = profile.diagnoses.first { $0.bindingID.utf8.elementsEqual(binding.bindingID.utf8) }
      let seen = profile.postures.first { $0.bindingID.utf8.elementsEqual(binding.bindingID.utf8) }
      return diagnosis.map {
        Entry(
          diagnosis: $0, binding: binding, model: seen?.posture?.deviceModel ?? "",
          isSeen: seen != nil || binding.passkey != nil, isOneOfSeveral: shown.count > 1)
      }
    }
    let alone = profile.diagnoses.first { $0.bindingID.isEmpty && (active.isEmpty || $0.saysMore) }
    entries =
      ofBindings
      + (alone.map { [Entry(diagnosis: $0, binding: nil, model: "", isSeen: true, isOneOfSeveral: false)] } ?? [])
  }
}

extension V1.LoginDiagnosis {
  /// Not only that nothing was set up for a login without a device.
  fileprivate var saysMore: Bool {
    let setUp = [LoginObstacle.Cause.notSet, .noUsableFactor].map(\.rawValue)
    return answer == .yes || obstacles.contains { !setUp.contains($0.code) }
  }

  /// Codes of a newer service are shown as they are.
  package func text(in language: Language, time: (V1.Timestamp) -> String) -> String {
    let known = LoginDiagnosis(self).text(in: language) { time(V1.Timestamp($0)) }
    let others = obstacles.map(\.code).filter { LoginObstacle.Cause(rawValue: $0) == nil }
    return others.isEmpty ? known : "\(known) (\(others.map(Self.word).joined(separator: ", ")))"
  }

  /// A code has letters, digits and underscores.
  private static func word(_ code: String) -> String {
    let bytes = code.utf8.map { byte in
      byte.isASCIIUppercase || byte.isASCIIDigit || byte == UInt8(ascii: "_") ? byte : UInt8(ascii: "?")
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension V1.Timestamp {
  /// "2026-11-28 10:32 UTC", or by an offset "2026-11-28 11:32 +01:00".
  package func minuteText(offsetMinutes: Int64? = nil) -> String {
    guard let text = rfc3339(offsetMinutes: offsetMinutes, hasFraction: false) else { return "\(seconds) s" }
    let zone = offsetMinutes == nil ? "UTC" : text.suffix(6)
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) \(zone)"
  }
}

// MARK: - Names

extension LoginReport.Entry {
  /// Tells two phones of one name apart, by model, last use and the end of the binding's id.
  ///
  /// - Parameters:
  ///   - shown: makes a name that an app chose safe to show.
  ///   - time: as the reader's other times are shown.
  package func name(
    in language: Language = .default, shown: (String) -> String = { $0 }, time: (V1.Timestamp) -> String
  ) -> String {
    let names = language.deviceNames
    guard let binding else { return names.withoutDevice }
    let name =
      !binding.deviceName.isEmpty
      ? shown(binding.deviceName) : binding.passkey == nil ? names.unnamedDevice : names.passkey
    guard isOneOfSeveral else { return name }
    let lastUse = binding.lastUsedAt.map { names.lastUsed(time($0)) } ?? names.neverUsed
    let details = [lastUse, "…\(shown(String(binding.bindingID.suffix(Self.idCharacters))))"]
    return "\(name) (\(((model.isEmpty ? [] : [shown(model)]) + details).joined(separator: ", ")))"
  }

  /// Enough to tell the devices of one person apart.
  private static let idCharacters = 4
}

// MARK: - The message as the rules' value

extension LoginDiagnosis {
  /// Without what a newer service has and this release does not know.
  fileprivate init(_ message: V1.LoginDiagnosis) {
    let answer = UInt8(exactly: message.answer.rawValue).flatMap(Answer.init(rawValue:)) ?? .unknown
    let obstacles = message.obstacles.compactMap { obstacle in
      LoginObstacle.Cause(rawValue: obstacle.code).map { cause in
        LoginObstacle(
          factors: obstacle.factors.compactMap { Factor($0) }, cause: cause, since: obstacle.since?.unixTime,
          until: obstacle.until?.unixTime, remedies: obstacle.remedies.compactMap { LoginObstacle.Remedy(rawValue: $0) }
        )
      }
    }
    self.init(
      answer: answer, factors: message.factors.compactMap { Factor($0) }, reportedAt: message.reportedAt?.unixTime,
      obstacles: obstacles)
  }
}

extension V1.Timestamp {
  fileprivate var unixTime: UnixTime? { UnixTime(seconds: seconds, nanoseconds: nanoseconds) }
}
