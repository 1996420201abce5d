/// An attempt's result in five words, for callers that need no more (R19).
public enum PlainResult: UInt8, Sendable, Hashable, CaseIterable {
  case success = 1
  /// -1.
  case failed
  /// Only -2: with -4 and -9 the person made no decision.
  case cancel
  /// -3.
  case fallback
  case other

  public init(outcome: Outcome, code: LAErrorCode?) {
    switch (outcome, code) {
    case (.succeeded, _): self = .success
    case (_, .authenticationFailed): self = .failed
    case (_, .userCancel): self = .cancel
    case (_, .userFallback): self = .fallback
    default: self = .other
    }
  }
}
