// R18: how the prompt is drawn; R19: the five plain results.

import Testing
import TouchstonePolicy

@Suite struct PresentationTests {
  private func present(
    _ policy: String = "login", fallback: String? = nil, cancel: String? = nil, on phone: String = "10.0",
    isVisible: Bool = false, defaults: EvaluationPolicy.Titles = .init()
  ) -> Presentation {
    var policy = EvaluationPolicy(words: policy)
    policy.presentation = defaults
    return policy.present(
      .init(fallback: fallback, cancel: cancel), on: DevicePosture(words: phone), isFallbackVisible: isVisible)
  }

  @Test("R18: absent is the default, empty is never shown, given is that text")
  func fallbackTitle() {
    #expect(present().fallbackTitle == .standard)
    #expect(present(fallback: "").fallbackTitle == .hidden)
    #expect(present(fallback: "Gesture").fallbackTitle == .text("Gesture"))
  }

  @Test("R18: a policy's own titles stand where the request says nothing")
  func policyTitles() {
    let own = EvaluationPolicy.Titles(fallback: "PIN", cancel: "Not now")
    #expect(present(defaults: own).fallbackTitle == .text("PIN"))
    #expect(present(defaults: own).cancelTitle == "Not now")
    #expect(present(fallback: "", cancel: "Stop", defaults: own).fallbackTitle == .hidden)
    #expect(present(fallback: "", cancel: "Stop", defaults: own).cancelTitle == "Stop")
    #expect(present(defaults: .init(fallback: "")).fallbackTitle == .hidden)
  }

  @Test("R18: the button shows when the decision says so, and never without a title")
  func visibility() {
    #expect(!present().isFallbackVisible)
    #expect(present(isVisible: true).isFallbackVisible)
    #expect(!present(fallback: "", isVisible: true).isFallbackVisible)
  }

  @Test("R9: no button where the evaluation falls back by itself")
  func automatic() {
    #expect(present("apple", fallback: "PIN", isVisible: true).fallbackTitle == .hidden)
    #expect(!present("apple", isVisible: true).isFallbackVisible)
  }

  @Test(
    "R2, R18: a cancel title from iOS 10 on",
    arguments: [("9.3", nil), ("10.0", "Stop"), ("android", "Stop")] as [(String, String?)])
  func cancelTitle(phone: String, expected: String?) {
    #expect(present(cancel: "Stop", on: phone).cancelTitle == expected)
    #expect(present(cancel: "", on: phone).cancelTitle == nil)
  }

  @Test(
    "R19: five plain results",
    arguments: [
      (.succeeded, nil, .success), (.tryAgain, .authenticationFailed, .failed),
      (.failed, .authenticationFailed, .failed), (.lockedOut, .authenticationFailed, .failed),
      (.canceled, .userCancel, .cancel), (.canceled, .systemCancel, .other), (.canceled, .appCancel, .other),
      (.fallback, .userFallback, .fallback), (.lockedOut, .biometryLockout, .other),
      (.factorRequired, .biometryNotAvailable, .other), (.factorRequired, .authenticationFailed, .failed),
      (.invalidContext, .invalidContext, .other), (.failed, .passcodeNotSet, .other), (.failed, nil, .other),
    ] as [(Outcome, LAErrorCode?, PlainResult)])
  func plainResults(outcome: Outcome, code: LAErrorCode?, expected: PlainResult) {
    #expect(PlainResult(outcome: outcome, code: code) == expected)
  }
}
