// The demo app's keychain: its keys, and what it remembers of its phone.

import Foundation
import LocalAuthentication

/// The app's corner of the keychain.
enum Keychain {
  static func accessControl(_ flags: SecAccessControlCreateFlags) throws -> SecAccessControl {
    var error: Unmanaged<CFError>?
    guard
      let control = SecAccessControlCreateWithFlags(
        nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags.union(.privateKeyUsage), &error)
    else { throw error!.takeRetainedValue() }
    return control
  }

  static func makeKey(_ factor: LoginFactor, flags: SecAccessControlCreateFlags) throws -> SecKey {
    let attributes: [String: Any] = [
      kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits as String: 256,
      kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
      kSecPrivateKeyAttrs as String: [
        kSecAttrIsPermanent as String: true, kSecAttrApplicationTag as String: tag(factor),
        kSecAttrAccessControl as String: try accessControl(flags),
      ] as [String: Any],
    ]
    var error: Unmanaged<CFError>?
    guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else { throw error!.takeRetainedValue() }
    return key
  }

  static func key(_ factor: LoginFactor, context: LAContext) -> SecKey? {
    let query: [String: Any] = [
      kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: tag(factor),
      kSecReturnRef as String: true, kSecUseAuthenticationContext as String: context,
    ]
    var key: CFTypeRef?
    return SecItemCopyMatching(query as CFDictionary, &key) == errSecSuccess ? (key as! SecKey) : nil
  }

  static func save(_ data: Data, as account: String) {
    let item: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: account,
      kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlockedThisDeviceOnly, kSecValueData as String: data,
    ]
    SecItemAdd(item as CFDictionary, nil)
  }

  static func load(_ account: String) -> Data? {
    let query: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: account, kSecReturnData as String: true,
    ]
    var data: CFTypeRef?
    return SecItemCopyMatching(query as CFDictionary, &data) == errSecSuccess ? data as? Data : nil
  }

  static func removeAll() {
    for itemClass in [kSecClassKey, kSecClassGenericPassword] {
      SecItemDelete([kSecClass as String: itemClass] as [String: Any] as CFDictionary)
    }
  }

  private static func tag(_ factor: LoginFactor) -> Data { Data("login.\(factor)".utf8) }
}

extension SecKey {
  func signature(of bytes: Data) throws -> Data {
    var error: Unmanaged<CFError>?
    guard let signature = SecKeyCreateSignature(self, .ecdsaSignatureMessageX962SHA256, bytes as CFData, &error)
    else { throw error!.takeRetainedValue() }
    return signature as Data
  }

  /// This new key with its proof of possession.
  func signed(_ bytes: Data, as factor: LoginFactor, with context: LAContext) throws -> SignedKey {
    guard let publicKey = SecKeyCopyPublicKey(self).flatMap({ SecKeyCopyExternalRepresentation($0, nil) as Data? }),
      let key = Keychain.key(factor, context: context)
    else { throw LAError(.invalidContext) }
    return SignedKey(factor: factor, publicKey: publicKey, signature: try key.signature(of: bytes))
  }
}
