// How the prompt is to be drawn (R18).

/// What the device shows beside the reason.
public struct Presentation: Sendable, Hashable {
  public enum FallbackTitle: Sendable, Hashable {
    /// Never shown.
    case hidden
    /// "Enter Password", in the person's language.
    case standard
    case text(String)
  }

  public var fallbackTitle: FallbackTitle
  /// The button is to be visible now.
  public var isFallbackVisible: Bool
  /// `nil`: the system's own.
  public var cancelTitle: String?

  public init(fallbackTitle: FallbackTitle, isFallbackVisible: Bool, cancelTitle: String?) {
    self.fallbackTitle = fallbackTitle
    self.isFallbackVisible = isFallbackVisible
    self.cancelTitle = cancelTitle
  }
}

extension EvaluationPolicy {
  /// - Parameters:
  ///   - requested: what the app asks for; where it does not say, the policy's own titles stand.
  ///   - isFallbackVisible: what the last attempt's decision said; false before one.
  public func present(_ requested: Titles, on posture: DevicePosture, isFallbackVisible: Bool) -> Presentation {
    let title = fallbackTitle(requested.fallback ?? presentation.fallback)
    let cancelTitle = requested.cancel ?? presentation.cancel ?? ""
    return Presentation(
      fallbackTitle: title, isFallbackVisible: isFallbackVisible && title != .hidden,
      cancelTitle: cancelTitle.isEmpty || !posture.supports(.customCancelTitle) ? nil : cancelTitle)
  }

  /// Who falls back automatically is asked for nothing (R9).
  private func fallbackTitle(_ title: String?) -> Presentation.FallbackTitle {
    guard fallback == .button else { return .hidden }
    guard let title else { return .standard }
    return title.isEmpty ? .hidden : .text(title)
  }
}
