// Apple's numbers (LAPublicDefines.h, LAError.h, LAContext.h, SecAccessControl.h, SecBase.h), side by side with ours.

import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("Apple's numbers")
struct AppleNumbersTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let number: Int
    let code: LAError.Code
    let constant: Int32

    init(_ name: String, _ number: Int, _ code: LAError.Code, _ constant: Int32) {
      self.testDescription = name
      self.number = number
      self.code = code
      self.constant = constant
    }
  }

  static let errors = [
    Row("authenticationFailed", -1, .authenticationFailed, kLAErrorAuthenticationFailed),
    Row("userCancel", -2, .userCancel, kLAErrorUserCancel),
    Row("userFallback", -3, .userFallback, kLAErrorUserFallback),
    Row("systemCancel", -4, .systemCancel, kLAErrorSystemCancel),
    Row("passcodeNotSet", -5, .passcodeNotSet, kLAErrorPasscodeNotSet),
    Row("biometryNotAvailable", -6, .biometryNotAvailable, kLAErrorBiometryNotAvailable),
    Row("touchIDNotAvailable", -6, .touchIDNotAvailable, kLAErrorTouchIDNotAvailable),
    Row("biometryNotEnrolled", -7, .biometryNotEnrolled, kLAErrorBiometryNotEnrolled),
    Row("touchIDNotEnrolled", -7, .touchIDNotEnrolled, kLAErrorTouchIDNotEnrolled),
    Row("biometryLockout", -8, .biometryLockout, kLAErrorBiometryLockout),
    Row("touchIDLockout", -8, .touchIDLockout, kLAErrorTouchIDLockout),
    Row("appCancel", -9, .appCancel, kLAErrorAppCancel),
    Row("invalidContext", -10, .invalidContext, kLAErrorInvalidContext),
    Row("companionNotAvailable", -11, .companionNotAvailable, kLAErrorCompanionNotAvailable),
    Row("watchNotAvailable", -11, .watchNotAvailable, kLAErrorWatchNotAvailable),
    Row("biometryNotPaired", -12, .biometryNotPaired, kLAErrorBiometryNotPaired),
    Row("biometryDisconnected", -13, .biometryDisconnected, kLAErrorBiometryDisconnected),
    Row("invalidDimensions", -14, .invalidDimensions, kLAErrorInvalidDimensions),
    Row("notInteractive", -1004, .notInteractive, kLAErrorNotInteractive),
  ]

  @Test(arguments: errors)
  func error(_ row: Row) {
    #expect(row.code.rawValue == row.number)
    #expect(Int(row.constant) == row.number)
    #expect(LAError.Code(rawValue: row.number) == row.code)
    let bridged = LAError(row.code) as NSError
    #expect(bridged.code == row.number)
    #expect(bridged.domain == "com.apple.LocalAuthentication")
  }

  @Test("There are no other codes")
  func noOthers() {
    let known = Set(Self.errors.map(\.number))
    for number in -1100...100 { #expect((LAError.Code(rawValue: number) != nil) == known.contains(number)) }
    #expect(kLAErrorDomain == LAErrorDomain && LAError.errorDomain == LAErrorDomain)
  }

  @Test("Policies")
  func policies() {
    #expect(
      LAPolicy(rawValue: Int(kLAPolicyDeviceOwnerAuthenticationWithBiometrics))
        == .deviceOwnerAuthenticationWithBiometrics)
    #expect(LAPolicy(rawValue: Int(kLAPolicyDeviceOwnerAuthentication)) == .deviceOwnerAuthentication)
    #expect(LAPolicy(rawValue: 3) == .deviceOwnerAuthenticationWithCompanion)
    #expect(LAPolicy(rawValue: 4) == .deviceOwnerAuthenticationWithBiometricsOrCompanion)
    #expect(LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue == 1)
    #expect(LAPolicy.deviceOwnerAuthentication.rawValue == 2)
    #expect(LAPolicy.deviceOwnerAuthenticationWithWatch.rawValue == kLAPolicyDeviceOwnerAuthenticationWithWatch)
    #expect(
      LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch.rawValue
        == kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch)
    #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
  }

  @Test("Biometry, companions, credentials, operations")
  func others() {
    #expect([LABiometryType.none, .touchID, .faceID, .opticID].map(\.rawValue) == [0, 1, 2, 4])
    #expect(
      [kLABiometryTypeNone, kLABiometryTypeTouchID, kLABiometryTypeFaceID, kLABiometryTypeOpticID] == [0, 1, 2, 4])
    #expect(LABiometryType.LABiometryNone == .none)
    #expect([LACompanionType.watch, .mac, .vision].map(\.rawValue) == [1, 2, 4])
    #expect([LACredentialType.applicationPassword, .smartCardPIN].map(\.rawValue) == [0, -3])
    let operations: [LAAccessControlOperation] = [
      .createItem, .useItem, .createKey, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange,
    ]
    #expect(operations.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect(operations.map { Int32($0.rawValue) }.last == kLAAccessControlOperationUseKeyKeyExchange)
  }

  @Test("Access control flags and keychain results")
  func security() {
    let flags: [SecAccessControlCreateFlags] = [
      .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion, .or, .and, .privateKeyUsage,
      .applicationPassword,
    ]
    #expect(flags.map { $0.rawValue.trailingZeroBitCount } == [0, 1, 3, 4, 5, 14, 15, 30, 31])
    #expect(SecAccessControlCreateFlags.touchIDCurrentSet == .biometryCurrentSet)
    let results = [
      errSecSuccess, errSecParam, errSecUserCanceled, errSecAuthFailed, errSecDuplicateItem, errSecItemNotFound,
      errSecInteractionNotAllowed,
    ]
    #expect(results == [0, -50, -128, -25293, -25299, -25300, -25308])
  }

  @Test("Names in queries, one of each kind")
  func names() {
    let names: [(CFString, String)] = [
      (kSecClassCertificate, "cert"), (kSecClassIdentity, "idnt"), (kSecReturnPersistentRef, "r_PersistentRef"),
      (kSecValuePersistentRef, "v_PersistentRef"), (kSecAttrAccessibleAlways, "dk"),
      (kSecAttrAccessibleAlwaysThisDeviceOnly, "dku"), (kSecAttrProtocolHTTPS, "htps"),
      (kSecAttrProtocolHTTPProxy, "htpx"), (kSecAttrProtocolSSH, "ssh "), (kSecAttrProtocolSOCKS, "sox "),
      (kSecAttrAuthenticationTypeHTTPBasic, "http"), (kSecAttrAuthenticationTypeHTTPDigest, "httd"),
      (kSecAttrAuthenticationTypeDefault, "dflt"), (kSecAttrSynchronizableAny, "syna"),
    ]
    for (name, text) in names { #expect(name as String == text) }
  }

  @Test("Results of the whole of Security, and of keys")
  func results() {
    #expect(
      [errSecInvalidRecord, errSecVerifyFailed, errSecMissingEntitlement, errSecDiskFull, errSSLCrypto]
        == [-67701, -67808, -34018, -34, -9809])
    let paddings: [SecPadding] = [.PKCS1, .OAEP, .sigRaw, .PKCS1SHA1, .PKCS1SHA256, .PKCS1SHA512]
    #expect(paddings.map(\.rawValue) == [1, 2, 0x4000, 0x8002, 0x8004, 0x8006])
  }

  @Test("The phone's failures are Apple's codes")
  func failures() {
    for failure in SimulatedPhone.Failure.allCases { #expect(LAError.Code(rawValue: failure.rawValue) != nil) }
    #expect(SimulatedPhone.EvaluationRequest.maximumReuse == .seconds(300))
  }
}
