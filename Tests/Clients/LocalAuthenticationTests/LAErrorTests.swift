// LAError: every way in which code written for Apple's platforms looks at one.

import Foundation
import LocalAuthentication
import Testing

@Suite struct LAErrorTests {
  private func fail(_ code: LAError.Code) throws {
    throw LAError(code)
  }

  @Test func isCastFromNSError() throws {
    let error: NSError? = NSError(domain: LAErrorDomain, code: -8)
    #expect((error as? LAError)?.code == .biometryLockout)
    let existential: any Error = try #require(error)
    #expect((existential as? LAError)?.code == .biometryLockout)
  }

  @Test func isNotCastFromAnotherDomain() {
    let error: any Error = NSError(domain: NSCocoaErrorDomain, code: -8)
    #expect(error as? LAError == nil)
  }

  @Test func isCaughtByCodeAndByType() {
    do { try fail(.userCancel) } catch LAError.userCancel {} catch { Issue.record(error) }
    do { try fail(.userFallback) } catch let error as LAError {
      #expect(error.code == .userFallback)
    } catch { Issue.record(error) }
  }

  @Test func becomesAnNSErrorWithAppleNumbers() {
    let error: any Error = LAError(.notInteractive)
    #expect((error as NSError).domain == "com.apple.LocalAuthentication")
    #expect((error as NSError).code == -1004)
    #expect(LAError(.touchIDLockout).errorCode == -8)
    #expect(LAError.errorDomain == LAErrorDomain)
  }

  @Test func isSwitchedOverByCode() throws {
    let error = LAError(.userFallback, userInfo: [NSLocalizedDescriptionKey: "Use the passcode."])
    let name =
      switch error.code {
      case .userFallback: "fallback"
      case .userCancel, .systemCancel, .appCancel: "cancel"
      default: "other"
      }
    #expect(name == "fallback")
    #expect(error.localizedDescription == "Use the passcode.")
  }

  @Test func isEqualAndHashedByDomainCodeAndUserInfo() {
    #expect(LAError(.userCancel) == LAError(.userCancel))
    #expect(LAError(.userCancel) != LAError(.systemCancel))
    #expect(Set([LAError(.userCancel), LAError(.userCancel), LAError(.appCancel)]).count == 2)
    #expect(Set([LAError.Code.userCancel, .userCancel, .touchIDLockout, .biometryLockout]).count == 2)
    let texts: [LAError.Code: String] = [.userFallback: "fallback"]
    #expect(texts[LAError(.userFallback).code] == "fallback")
  }
}
