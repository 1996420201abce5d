// Code that imports Security, as that of keychain wrappers does, and knows nothing of LocalAuthentication.

import Foundation
import Security

public final class Tokens {
  private let service: String

  public init(service: String) {
    self.service = service
  }

  private func query(_ name: String) -> [String: AnyHashable] {
    [
      kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
      kSecAttrAccount as String: name, kSecAttrAccessible as String: kSecAttrAccessibleAlwaysThisDeviceOnly,
      kSecAttrSynchronizable as String: false,
    ]
  }

  public subscript(name: String) -> Data? {
    get {
      var query = self.query(name)
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = 1
      var item: CFTypeRef?
      switch SecItemCopyMatching(query as CFDictionary, &item) {
      case errSecSuccess: return item as? Data
      case errSecItemNotFound, errSecInvalidRecord: return nil
      case let status: preconditionFailure(SecCopyErrorMessageString(status, nil) as String? ?? "\(status)")
      }
    }
    set {
      SecItemDelete(query(name) as CFDictionary)
      guard let newValue = newValue else { return }
      var item = query(name)
      item[kSecValueData as String] = newValue
      item[kSecReturnPersistentRef as String] = true
      var reference: CFTypeRef?
      SecItemAdd(item as CFDictionary, &reference)
      precondition(reference is Data)
    }
  }
}

public enum SealingError: Error {
  case failed(domain: String, code: Int)

  init(_ error: Unmanaged<CFError>?) {
    let error = error!.takeRetainedValue()
    self = .failed(domain: CFErrorGetDomain(error) as String, code: CFErrorGetCode(error))
  }
}

/// Data sealed for a key of the Secure Enclave.
public struct Sealer {
  private let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
  private let key: SecKey

  public init?() {
    var publicKey, privateKey: SecKey?
    let attributes: [CFString: Any] = [
      kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
      kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs: [kSecAttrIsPermanent: false],
    ]
    guard SecKeyGeneratePair(attributes as CFDictionary, &publicKey, &privateKey) == errSecSuccess else { return nil }
    key = privateKey!
  }

  public func seal(_ data: Data) throws -> Data {
    var error: Unmanaged<CFError>?
    guard let sealed = SecKeyCreateEncryptedData(SecKeyCopyPublicKey(key)!, algorithm, data as CFData, &error) else {
      throw SealingError(error)
    }
    return sealed as Data
  }

  public func open(_ data: Data) throws -> Data {
    var error: Unmanaged<CFError>?
    guard let opened = SecKeyCreateDecryptedData(key, algorithm, data as CFData, &error) as Data? else {
      throw SealingError(error)
    }
    return opened
  }
}
