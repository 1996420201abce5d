/// How the device draws the prompt (R18): the titles and buttons that it shows together with the reason.
public struct Presentation: Sendable, Hashable {
  public enum FallbackTitle: Sendable, Hashable {
    /// The button is never shown.
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
  ///   - requested: the app's titles; if the app gives none, the policy's own apply.
  ///   - isFallbackVisible: from the last attempt's decision; false before the first.
  public func present(_ requested: Titles, on posture: DevicePosture, isFallbackVisible: Bool) -> Presentation {
    let title = fallbackTitle(requested.fallback ?? presentation.fallback)
    let cancelTitle = requested.cancel ?? presentation.cancel ?? ""
    return Presentation(
      fallbackTitle: title, isFallbackVisible: isFallbackVisible && title != .hidden,
      cancelTitle: cancelTitle.isEmpty || !posture.supports(.customCancelTitle) ? nil : cancelTitle)
  }

  /// A policy that falls back automatically draws no button (R9).
  private func fallbackTitle(_ title: String?) -> Presentation.FallbackTitle {
    guard fallback == .button else { return .hidden }
    guard let title else { return .standard }
    return title.isEmpty ? .hidden : .text(title)
  }
}
