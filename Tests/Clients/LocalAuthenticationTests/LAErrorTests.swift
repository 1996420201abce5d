// LAError as a value. `AppleStylesTests` and `AppleNumbersTests` have its casts, switches and numbers.

import Foundation
import LocalAuthentication
import Testing

@Suite struct LAErrorTests {
  @Test func isEqualAndHashedByDomainCodeAndUserInfo() {
    #expect(LAError(.userCancel) == LAError(.userCancel))
    #expect(LAError(.userCancel) != LAError(.systemCancel))
    #expect(Set([LAError(.userCancel), LAError(.userCancel), LAError(.appCancel)]).count == 2)
    #expect(Set([LAError.Code.userCancel, .userCancel, .touchIDLockout, .biometryLockout]).count == 2)
    let texts: [LAError.Code: String] = [.userFallback: "fallback"]
    #expect(texts[LAError(.userFallback).code] == "fallback")
    let worded = LAError(.userFallback, userInfo: [NSLocalizedDescriptionKey: "Use the passcode."])
    #expect(worded.localizedDescription == "Use the passcode.")
  }
}
