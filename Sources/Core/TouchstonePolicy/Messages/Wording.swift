/// The facts besides its occasion on which a message depends.
struct MessageContext: Sendable, Hashable {
  /// `nil`: waiting does not help.
  var retryAfter: Duration?
  /// Best first.
  var nextFactors: [Factor] = []
  /// What the next wrong attempt does; `nil`: it locks nothing.
  var lastTry: LastTry?
}

/// The consequence of one more wrong attempt.
enum LastTry: Sendable, Hashable {
  /// No waiting ends it.
  case biometryIsTurnedOff
  case secretIsPaused
  /// Until it is set anew.
  case secretIsTurnedOff
}

/// A language's words.
protocol Wording: DiagnosisWording {
  var defaultFallbackTitle: String { get }
  /// The separator between two sentences.
  var sentenceSeparator: String { get }
  /// The statement; empty if the suggestion says everything.
  func sentence(_ occasion: Occasion, _ biometry: BiometryType) -> String
  var tryAgain: String { get }
  var startAgain: String { get }
  var signInAgain: String { get }
  func oneTryLeft(_ lastTry: LastTry, _ biometry: BiometryType) -> String
  /// - Parameter factors: at least one.
  func use(_ factors: [Factor], _ biometry: BiometryType) -> String
  /// - Parameter factors: to use instead of waiting; may be empty.
  func tryAgain(in wait: Wait, orUse factors: [Factor], _ biometry: BiometryType) -> String
  /// One more touch is left.
  func typeset(_ text: String) -> String
}

extension Wording {
  func typeset(_ text: String) -> String { text }

  /// More suggestions than these do not help in one sentence.
  private static var maximumWays: Int { 2 }

  func message(_ occasion: Occasion, biometry: BiometryType, context: MessageContext) -> String {
    var sentences = [sentence(occasion, biometry)]
    let ways = Array(context.nextFactors.prefix(Self.maximumWays))
    if let retryAfter = context.retryAfter {
      sentences.append(tryAgain(in: Wait(retryAfter), orUse: ways, biometry))
    } else {
      sentences.append(followUp(occasion.followUp, ways, biometry))
    }
    if let lastTry = context.lastTry { sentences.append(oneTryLeft(lastTry, biometry)) }
    return typeset(sentences.filter { !$0.isEmpty }.joined(separator: sentenceSeparator))
  }

  private func followUp(_ followUp: FollowUp, _ ways: [Factor], _ biometry: BiometryType) -> String {
    switch followUp {
    case .nothing: ""
    case .tryAgain: tryAgain
    case .startAgain: startAgain
    case .otherWays: ways.isEmpty ? "" : use(ways, biometry)
    case .otherWaysOrStartAgain: ways.isEmpty ? startAgain : use(ways, biometry)
    case .otherWaysOrSignIn: ways.isEmpty ? signInAgain : use(ways, biometry)
    }
  }
}

/// A time to wait, as people say it, and never too short.
struct Wait: Sendable, Hashable {
  enum Unit: Sendable, Hashable, CaseIterable {
    case second
    case minute
    case hour
    case day

    fileprivate var seconds: Int64 {
      switch self {
      case .second: 1
      case .minute: 60
      case .hour: 60 * 60
      case .day: 24 * 60 * 60
      }
    }
  }

  /// At least 1.
  var count: Int64
  var unit: Unit

  init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let whole = max(1, attoseconds > 0 ? seconds + 1 : seconds)
    // "90 minutes" says more than "2 hours" for an hour and a half, and "100 seconds" no more than "2 minutes".
    unit =
      switch whole {
      case ..<Unit.minute.seconds: .second
      case ..<(2 * Unit.hour.seconds): .minute
      case ..<(2 * Unit.day.seconds): .hour
      default: .day
      }
    count = whole / unit.seconds + (whole % unit.seconds == 0 ? 0 : 1)
  }
}
