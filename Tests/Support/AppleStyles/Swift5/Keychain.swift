// The keychain's functions with every kind of dictionary that apps hand them.

import LocalAuthentication

public enum KeychainFailure: Error, Equatable {
  case status(OSStatus)
  case accessControl
}

public struct KeychainStore {
  let service: String

  public init(service: String) {
    self.service = service
  }

  public func save(_ secret: String, account: String, flags: SecAccessControlCreateFlags = .userPresence) throws {
    guard
      let access = SecAccessControlCreateWithFlags(
        kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, nil)
    else { throw KeychainFailure.accessControl }
    let query: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
      kSecAttrAccount as String: account, kSecAttrAccessControl as String: access as Any,
      kSecValueData as String: secret.data(using: .utf8)!,
    ]
    SecItemDelete(query as CFDictionary)
    let status = SecItemAdd(query as CFDictionary, nil)
    guard status == errSecSuccess else { throw KeychainFailure.status(status) }
  }

  public func load(account: String, context: LAContext) throws -> String {
    var query = [CFString: Any]()
    query[kSecClass] = kSecClassGenericPassword
    query[kSecAttrService] = service
    query[kSecAttrAccount] = account
    query[kSecReturnData] = kCFBooleanTrue
    query[kSecMatchLimit] = kSecMatchLimitOne
    query[kSecUseAuthenticationContext] = context
    var result: AnyObject?
    let status = withUnsafeMutablePointer(to: &result) {
      SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
    }
    guard status == errSecSuccess, let data = result as? Data, let text = String(data: data, encoding: .utf8) else {
      throw KeychainFailure.status(status)
    }
    return text
  }

  public func contains(account: String) -> Bool {
    let query: [String: AnyObject] = [
      kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service as AnyObject,
      kSecAttrAccount as String: account as AnyObject, kSecUseAuthenticationUI as String: kSecUseAuthenticationUIFail,
      kSecReturnData as String: kCFBooleanTrue,
    ]
    let status = SecItemCopyMatching(query as CFDictionary, nil)
    return status == errSecSuccess || status == errSecInteractionNotAllowed
  }

  public func remove(account: String) -> Bool {
    let query: NSDictionary = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: account]
    return SecItemDelete(query) == noErr
  }
}

public struct EnclaveKey {
  public let privateKey: SecKey

  public init(tag: String) throws {
    var error: Unmanaged<CFError>?
    guard
      let access = SecAccessControlCreateWithFlags(
        nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly as CFTypeRef, [.privateKeyUsage, .biometryCurrentSet], &error)
    else { throw error!.takeRetainedValue() as Error }
    let attributes: [CFString: Any] = [
      kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256 as AnyObject,
      kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
      kSecPrivateKeyAttrs: [
        kSecAttrIsPermanent: true, kSecAttrApplicationTag: tag.data(using: .utf8)!, kSecAttrAccessControl: access,
      ] as CFDictionary,
    ]
    guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
      throw error!.takeRetainedValue()
    }
    privateKey = key
  }

  public init?(existing tag: String) {
    let query: [NSObject: Any] = [
      kSecClass: kSecClassKey, kSecAttrApplicationTag: tag.data(using: .utf8)!, kSecReturnRef: true,
    ]
    var item: CFTypeRef?
    guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess, let item = item else { return nil }
    privateKey = item as! SecKey
  }

  public var publicKey: Data? {
    guard let key = SecKeyCopyPublicKey(privateKey) else { return nil }
    return SecKeyCopyExternalRepresentation(key, nil) as Data?
  }

  public func sign(_ message: Data) throws -> Data {
    let algorithm: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256
    guard SecKeyIsAlgorithmSupported(privateKey, .sign, algorithm) else { throw KeychainFailure.status(errSecParam) }
    var error: Unmanaged<CFError>?
    guard let signature = SecKeyCreateSignature(privateKey, algorithm, message as CFData, &error) else {
      throw error!.takeRetainedValue() as Error
    }
    return signature as Data
  }
}
