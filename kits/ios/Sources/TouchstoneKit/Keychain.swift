// The kit's items in the keychain: the binding, the device's id and two keys. None of them leaves this phone.

import Foundation
import LocalAuthentication

#if canImport(Darwin)
  import Security
#endif

/// The phone's record of its binding.
struct StoredBinding: Codable {
  var bindingId: String
  /// The account, as the service calls it.
  var profile: String?
  /// The app's installation that made it.
  var installation: String
  var slot: Keychain.Slot
  /// The protections' numbers.
  var made: [Int]
  /// The domain state of the fingers or faces that the service knows; empty: none was given.
  var fingers: Data
  /// In base64; `nil`: the app does not vouch for its keys.
  var appAttestKey: String?
  /// The sealed halves of hybrid keys, by the protection's number.
  var mlDsa65Keys: [Int: Data]
}

struct Keychain {
  /// New keys go into the slot that is free, so the old binding serves until the new one is complete.
  enum Slot: String, Codable {
    case first, second

    var other: Slot { self == .first ? .second : .first }
  }

  /// Separates the items from others of the app.
  let service: String
  /// Shared by the apps of one vendor: it holds the device's id alone.
  let sharedGroup: String?

  // MARK: The binding and the device's id

  /// Returns the binding; `nil`: there is none that this version can read.
  /// - Throws: if the keychain cannot be read now, as before the first unlock. That says nothing of a binding.
  func binding() throws -> StoredBinding? {
    try load("binding").flatMap { try? JSONDecoder().decode(StoredBinding.self, from: $0) }
  }

  func save(_ binding: StoredBinding) throws {
    try save(JSONEncoder().encode(binding), as: "binding")
  }

  /// Removes binding and keys. The device's id stays, so that the next binding replaces this one.
  func forget() {
    SecItemDelete(item("binding") as CFDictionary)
    removeKeys(in: .first)
    removeKeys(in: .second)
  }

  /// A random id, made at the first use.
  func deviceID() throws -> String {
    if let id = try load("device", in: sharedGroup) { return String(decoding: id, as: UTF8.self) }
    let id = UUID().uuidString
    try save(Data(id.utf8), as: "device", in: sharedGroup)
    return id
  }

  private func item(_ account: String, in group: String? = nil) -> [String: Any] {
    var item: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
      kSecAttrAccount as String: account, kSecAttrSynchronizable as String: false,
    ]
    if let group { item[kSecAttrAccessGroup as String] = group }
    return item
  }

  private func load(_ account: String, in group: String? = nil) throws -> Data? {
    var query = item(account, in: group)
    query[kSecReturnData as String] = true
    return try find(query) as? Data
  }

  /// Returns what the query finds; `nil`: no item is there.
  private func find(_ query: [String: Any]) throws -> CFTypeRef? {
    var found: CFTypeRef?
    switch SecItemCopyMatching(query as CFDictionary, &found) {
    case errSecSuccess: return found
    case errSecItemNotFound: return nil
    case let status: throw PhoneFailure(status: status)
    }
  }

  private func save(_ data: Data, as account: String, in group: String? = nil) throws {
    var new = item(account, in: group)
    new[kSecValueData as String] = data
    new[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    var status = SecItemAdd(new as CFDictionary, nil)
    if status == errSecDuplicateItem {
      let change: [String: Any] = [kSecValueData as String: data]
      status = SecItemUpdate(item(account, in: group) as CFDictionary, change as CFDictionary)
    }
    guard status == errSecSuccess else { throw PhoneFailure(status: status) }
  }

  // MARK: Keys

  static func accessControl(_ protection: Protection) throws -> SecAccessControl {
    let flags: SecAccessControlCreateFlags = protection == .devicePasscode ? .devicePasscode : .biometryCurrentSet
    var error: Unmanaged<CFError>?
    guard
      let control = SecAccessControlCreateWithFlags(
        nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, [.privateKeyUsage, flags], &error)
    else { throw PhoneFailure(error) }
    return control
  }

  func makeKey(_ protection: Protection, in slot: Slot) throws -> SecKey {
    let attributes: [String: Any] = [
      kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits as String: 256,
      kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
      kSecPrivateKeyAttrs as String: [
        kSecAttrIsPermanent as String: true, kSecAttrApplicationTag as String: tag(protection, slot),
        kSecAttrAccessControl as String: try Self.accessControl(protection),
      ] as [String: Any],
    ]
    var error: Unmanaged<CFError>?
    guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else { throw PhoneFailure(error) }
    return key
  }

  /// Returns the key, which signs without a prompt after `context` was evaluated; `nil`: it is gone.
  func key(_ protection: Protection, in slot: Slot, context: LAContext) throws -> SecKey? {
    let query: [String: Any] = [
      kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: tag(protection, slot),
      kSecReturnRef as String: true, kSecUseAuthenticationContext as String: context,
    ]
    // The query returns references to keys alone. Swift has no conditional cast to Core Foundation's types.
    return try find(query).map { $0 as! SecKey }
  }

  func removeKeys(in slot: Slot) {
    for protection in [Protection.biometryCurrentSet, .devicePasscode] {
      let query: [String: Any] = [
        kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: tag(protection, slot),
      ]
      SecItemDelete(query as CFDictionary)
    }
  }

  private func tag(_ protection: Protection, _ slot: Slot) -> Data {
    Data("\(service).\(slot.rawValue).\(protection.rawValue)".utf8)
  }
}

extension SecKey {
  /// 65 bytes: X9.63, uncompressed.
  var publicBytes: Data? {
    SecKeyCopyPublicKey(self).flatMap { SecKeyCopyExternalRepresentation($0, nil) as Data? }
  }

  /// ECDSA with SHA-256, in DER.
  func signature(of bytes: Data) throws -> Data {
    var error: Unmanaged<CFError>?
    guard let signature = SecKeyCreateSignature(self, .ecdsaSignatureMessageX962SHA256, bytes as CFData, &error)
    else { throw PhoneFailure(error) }
    return signature as Data
  }
}

/// An error of the phone, before the kit says what it means.
struct PhoneFailure: Error {
  var domain: String
  var code: Int

  static let keyGone = PhoneFailure(status: errSecItemNotFound)

  init(status: OSStatus) {
    (domain, code) = ("NSOSStatusErrorDomain", Int(status))
  }

  init(_ error: Unmanaged<CFError>?) {
    self.init(status: errSecParam)
    guard let error = error?.takeRetainedValue() else { return }
    (domain, code) = (CFErrorGetDomain(error) as String, CFErrorGetCode(error))
  }

  /// `nil`: it is no error of LocalAuthentication, of the keychain or of a key.
  init?(_ error: any Error) {
    if let failure = error as? PhoneFailure {
      self = failure
      return
    }
    if let error = error as? LAError {
      (domain, code) = (LAErrorDomain, error.errorCode)
      return
    }
    let system = error as NSError
    guard ["NSOSStatusErrorDomain", "CryptoTokenKit"].contains(system.domain) else { return nil }
    (domain, code) = (system.domain, system.code)
  }

  var answer: PhoneAnswer {
    switch domain {
    case LAErrorDomain: return .ofLAError(code)
    case "CryptoTokenKit": return .ofToken(code)
    default: return .ofStatus(code)
    }
  }
}
