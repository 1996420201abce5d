// The settings of the kit. All of them have a default.

import Foundation
import LocalAuthentication

public struct TouchIDSettings: Sendable {
  /// The prompts' texts, in the person's language. None may be empty.
  public var enableReason = "Enable Touch ID"
  public var loginReason = "Log in"
  /// The prompt of a payment begins with it.
  public var paymentReason = "Pay"
  /// The fallback button; `nil`: the policy's own, or none.
  public var fallbackTitle: String?
  public var cancelTitle: String?

  /// The policies that the app asks for. The kit signs under no other ones.
  public var loginPolicy = "login"
  public var paymentPolicy = "payment"
  /// The name of the binding, as its owner sees it.
  public var deviceName = "iPhone"
  /// The languages of texts for the person, as the backend sends them to the service in `accept-language`.
  public var languages = Locale.preferredLanguages.joined(separator: ", ")

  /// Whether a second key is made, which the device's passcode unlocks. Without it, a changed finger leaves nothing but
  /// a new binding.
  public var makesPasscodeKey = true
  /// Makes the second halves of hybrid keys; `nil`: keys of P-256 alone.
  public var hybridKeys: (any HybridKeyMaker)?
  /// Vouches for keys and attempts; `nil`: the app does not.
  public var appAttest: (any AppVoucher)?

  public var device = Device()
  /// Separates the kit's items in the keychain from others of the app.
  public var keychainService = "touchstone"
  /// An access group of your apps of one vendor, which share the device's id.
  public var sharedKeychainGroup: String?
  /// A file that goes away with the app, unlike the keychain.
  public var installationFile =
    (FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
    ?? FileManager.default.temporaryDirectory).appendingPathComponent("touchstone-installation")

  public init() {
    #if canImport(CryptoKit)
      hybridKeys = secureEnclaveHybridKeys()
      #if canImport(DeviceCheck)
        appAttest = deviceCheck()
      #endif
    #endif
  }
}

/// The system and model in the posture.
public struct Device: Sendable {
  public var platform: String
  public var osVersion: String
  public var model: String

  /// This device.
  public init() {
    #if os(macOS)
      platform = "macos"
    #elseif os(visionOS)
      platform = "visionos"
    #else
      platform = "ios"
    #endif
    let version = ProcessInfo.processInfo.operatingSystemVersion
    osVersion = "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
    var system = utsname()
    uname(&system)
    model = withUnsafeBytes(of: &system.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  public init(platform: String, osVersion: String, model: String) {
    (self.platform, self.osVersion, self.model) = (platform, osVersion, model)
  }
}

/// The second halves of hybrid keys: ML-DSA-65 in the Secure Enclave.
public protocol HybridKeyMaker: Sendable {
  /// Returns the key, sealed for this Secure Enclave, and its public key of 1,952 bytes.
  func makeKey(_ accessControl: SecAccessControl) throws -> (sealed: Data, publicKey: Data)
  /// Signs without a prompt: `context` was evaluated.
  func signature(of bytes: Data, bySealed key: Data, context: LAContext) throws -> Data
}

/// App Attest: the app's word for its keys. The service verifies it.
public protocol AppVoucher: Sendable {
  /// Returns the new key's id, in base64.
  func generateKey() async throws -> String
  func attest(_ keyID: String, clientData: Data) async throws -> Data
  func assert(_ keyID: String, clientData: Data) async throws -> Data
}
