// The operations of keys by Apple's functions, and the access controls and errors that come with them.

import Foundation
import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("Key operations")
struct KeyOperationTests {
  private let phone = SimulatedPhone.withThumb(person: .presenting(.finger("thumb")))
  private static let message = Data("pay 12.50 CNY".utf8)

  private func parameters(
    _ privateHalf: [CFString: Any] = [kSecAttrIsPermanent: false], _ publicHalf: [CFString: Any] = [:],
    _ both: [CFString: Any] = [:]
  ) -> CFDictionary {
    let pair: [CFString: Any] = [
      kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
      kSecPrivateKeyAttrs: privateHalf, kSecPublicKeyAttrs: publicHalf,
    ]
    return pair.merging(both) { $1 } as CFDictionary
  }

  private func run<Value>(_ body: () throws -> Value) rethrows -> Value {
    try LASimulation(phone: phone).run(body)
  }

  private func pair(_ parameters: CFDictionary) throws -> (publicKey: SecKey, privateKey: SecKey) {
    try run {
      var publicKey: SecKey?
      var privateKey: SecKey?
      #expect(SecKeyGeneratePair(parameters, &publicKey, &privateKey) == errSecSuccess)
      return try (#require(publicKey), #require(privateKey))
    }
  }

  private func find(_ query: [CFString: Any]) -> SecKey? {
    run {
      var item: CFTypeRef?
      let status = SecItemCopyMatching(
        query.merging([kSecClass: kSecClassKey, kSecReturnRef: true]) { $1 } as CFDictionary, &item)
      return status == errSecSuccess ? item as? SecKey : nil
    }
  }

  private func code(_ error: Unmanaged<CFError>?) -> OSStatus? {
    error.map { OSStatus(truncatingIfNeeded: CFErrorGetCode($0.takeRetainedValue())) }
  }

  // MARK: Encryption

  static let encryptions: [SecKeyAlgorithm] = [
    .eciesEncryptionStandardX963SHA1AESGCM, .eciesEncryptionStandardX963SHA256AESGCM,
    .eciesEncryptionStandardX963SHA384AESGCM, .eciesEncryptionStandardX963SHA512AESGCM,
    .eciesEncryptionCofactorX963SHA1AESGCM, .eciesEncryptionCofactorX963SHA256AESGCM,
    .eciesEncryptionCofactorX963SHA384AESGCM, .eciesEncryptionCofactorX963SHA512AESGCM,
    .eciesEncryptionStandardVariableIVX963SHA256AESGCM, .eciesEncryptionStandardVariableIVX963SHA384AESGCM,
    .eciesEncryptionStandardVariableIVX963SHA512AESGCM, .eciesEncryptionCofactorVariableIVX963SHA256AESGCM,
    .eciesEncryptionCofactorVariableIVX963SHA384AESGCM, .eciesEncryptionCofactorVariableIVX963SHA512AESGCM,
  ]

  @Test("What is encrypted to the public half, the phone decrypts", arguments: encryptions)
  func encryption(algorithm: SecKeyAlgorithm) throws {
    let (publicKey, privateKey) = try pair(parameters())
    #expect(SecKeyIsAlgorithmSupported(publicKey, .encrypt, algorithm))
    #expect(SecKeyIsAlgorithmSupported(privateKey, .decrypt, algorithm))
    #expect(!SecKeyIsAlgorithmSupported(privateKey, .encrypt, algorithm))
    #expect(!SecKeyIsAlgorithmSupported(publicKey, .decrypt, algorithm))
    let encrypted = try #require(SecKeyCreateEncryptedData(publicKey, algorithm, Self.message as CFData, nil))
    #expect(SecKeyCreateDecryptedData(privateKey, algorithm, encrypted, nil) as Data? == Self.message)
    var error: Unmanaged<CFError>?
    #expect(SecKeyCreateDecryptedData(privateKey, algorithm, Self.message as CFData, &error) == nil)
    #expect(code(error) == errSecParam)
  }

  @Test("What no P-256 key does is denied, and answered with errSecParam")
  func unsupported() throws {
    let (publicKey, privateKey) = try pair(parameters())
    for algorithm: SecKeyAlgorithm in [
      .rsaEncryptionOAEPSHA256, .rsaEncryptionPKCS1, .rsaEncryptionOAEPSHA512AESGCM,
      .eciesEncryptionStandardX963SHA224AESGCM, .init(rawValue: "algid:encrypt:ECIES"), .init(rawValue: ""),
      .ecdsaSignatureMessageX962SHA256,
    ] {
      #expect(!SecKeyIsAlgorithmSupported(publicKey, .encrypt, algorithm))
      var error: Unmanaged<CFError>?
      #expect(SecKeyCreateEncryptedData(publicKey, algorithm, Self.message as CFData, &error) == nil)
      #expect(code(error) == errSecParam)
      #expect(SecKeyCreateDecryptedData(privateKey, algorithm, Self.message as CFData, &error) == nil)
      #expect(code(error) == errSecParam)
    }
  }

  @Test("Decrypting and agreeing ask the person; encrypting asks nobody")
  func presence() throws {
    let control = try #require(
      SecAccessControlCreateWithFlags(
        nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage, .userPresence], nil))
    let (publicKey, privateKey) = try pair(parameters([kSecAttrAccessControl: control, kSecAttrIsPermanent: false]))
    let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
    phone.setPerson(.init(habitAtSensor: .tapCancel))
    let encrypted = try #require(SecKeyCreateEncryptedData(publicKey, algorithm, Self.message as CFData, nil))
    var error: Unmanaged<CFError>?
    #expect(SecKeyCreateDecryptedData(privateKey, algorithm, encrypted, &error) == nil)
    #expect((error?.takeRetainedValue() as? LAError)?.code == .userCancel)
    #expect(SecKeyCopyKeyExchangeResult(privateKey, .ecdhKeyExchangeStandard, publicKey, [:], &error) == nil)
    #expect((error?.takeRetainedValue() as? LAError)?.code == .userCancel)
    phone.setPerson(.presenting(.finger("thumb")))
    #expect(SecKeyCreateDecryptedData(privateKey, algorithm, encrypted, nil) as Data? == Self.message)
  }

  @Test("Two keys agree, with derivation and without")
  func agreement() throws {
    let (one, other) = (try pair(parameters()), try pair(parameters()))
    let size = SecKeyKeyExchangeParameter.requestedSize.rawValue
    let derivation: [CFString: Any] = [size: 20, SecKeyKeyExchangeParameter.sharedInfo.rawValue: Data([1])]
    for (algorithm, parameters, length) in [
      (SecKeyAlgorithm.ecdhKeyExchangeStandard, [:], 32), (.ecdhKeyExchangeCofactor, [:], 32),
      (.ecdhKeyExchangeStandardX963SHA1, derivation, 20), (.ecdhKeyExchangeCofactorX963SHA512, derivation, 20),
    ] {
      #expect(SecKeyIsAlgorithmSupported(one.privateKey, .keyExchange, algorithm))
      let result = { (mine: SecKey, theirs: SecKey) in
        SecKeyCopyKeyExchangeResult(mine, algorithm, theirs, parameters as CFDictionary, nil) as Data?
      }
      let secret = try #require(result(one.privateKey, other.publicKey))
      #expect(secret == result(other.privateKey, one.publicKey))
      #expect(secret.count == length)
    }
    for size in [nil, -1, 0, Int.max] {
      let parameters = size.map { [SecKeyKeyExchangeParameter.requestedSize.rawValue: $0] } ?? [:]
      var error: Unmanaged<CFError>?
      #expect(
        SecKeyCopyKeyExchangeResult(
          one.privateKey, .ecdhKeyExchangeStandardX963SHA256, other.publicKey, parameters as CFDictionary, &error)
          == nil)
      #expect(code(error) == errSecParam)
    }
  }

  // MARK: Signatures

  @Test("Each algorithm verifies its own signatures, of messages and of digests")
  func signatures() throws {
    let (publicKey, privateKey) = try pair(parameters())
    let digests: [(SecKeyAlgorithm, KeyHash?)] = [
      (.ecdsaSignatureMessageX962SHA1, nil), (.ecdsaSignatureMessageX962SHA256, nil),
      (.ecdsaSignatureMessageX962SHA384, nil), (.ecdsaSignatureMessageX962SHA512, nil),
      (.ecdsaSignatureMessageRFC4754SHA256, nil), (.ecdsaSignatureDigestX962, .sha256),
      (.ecdsaSignatureRFC4754, .sha256), (.ecdsaSignatureDigestX962SHA1, .sha1),
      (.ecdsaSignatureDigestX962SHA256, .sha256), (.ecdsaSignatureDigestX962SHA384, .sha384),
      (.ecdsaSignatureDigestX962SHA512, .sha512), (.ecdsaSignatureDigestRFC4754SHA256, .sha256),
    ]
    for (algorithm, hash) in digests {
      let signed = hash.map { Data($0.digest(of: [UInt8](Self.message))) } ?? Self.message
      let signature = try #require(SecKeyCreateSignature(privateKey, algorithm, signed as CFData, nil))
      #expect(SecKeyVerifySignature(publicKey, algorithm, signed as CFData, signature, nil))
      var error: Unmanaged<CFError>?
      let altered = Data(signed.reversed()) as CFData
      #expect(!SecKeyVerifySignature(publicKey, algorithm, altered, signature, &error))
      #expect(code(error) == errSecVerifyFailed)
    }
    var error: Unmanaged<CFError>?
    let tooShort = Data(count: 20) as CFData
    #expect(SecKeyCreateSignature(privateKey, .ecdsaSignatureDigestX962SHA256, tooShort, &error) == nil)
    #expect(code(error) == errSecParam)
  }

  @Test("A digest's signature is its message's", arguments: [SecPadding.PKCS1, [], .sigRaw])
  func raw(padding: SecPadding) throws {
    let (publicKey, privateKey) = try pair(parameters())
    let digest = KeyHash.sha256.digest(of: [UInt8](Self.message))
    var signature = [UInt8](repeating: 0, count: 128)
    var length = signature.count
    #expect(SecKeyRawSign(privateKey, padding, digest, digest.count, &signature, &length) == errSecSuccess)
    #expect(SecKeyRawVerify(publicKey, padding, digest, digest.count, signature, length) == errSecSuccess)
    let algorithm: SecKeyAlgorithm =
      padding == .sigRaw ? .ecdsaSignatureMessageRFC4754SHA256 : .ecdsaSignatureMessageX962SHA256
    let data = Data(signature.prefix(length)) as CFData
    #expect(SecKeyVerifySignature(publicKey, algorithm, Self.message as CFData, data, nil))
    #expect(SecKeyRawVerify(publicKey, padding, digest, digest.count - 1, signature, length) == errSSLCrypto)
    length = 8
    #expect(SecKeyRawSign(privateKey, padding, digest, digest.count, &signature, &length) == errSecParam)
    #expect(SecKeyRawSign(publicKey, padding, digest, digest.count, &signature, &length) == errSecParam)
  }

  // MARK: In the keychain

  @Test("Both halves are kept where they are to be, each under its own label")
  func permanent() throws {
    let (publicKey, privateKey) = try pair(
      parameters(
        [kSecAttrIsPermanent: true, kSecAttrLabel: "private"], [kSecAttrIsPermanent: true, kSecAttrLabel: "public"],
        [kSecAttrApplicationTag: Data([1])]))
    #expect(find([kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecAttrLabel: "private"]) == privateKey)
    #expect(find([kSecAttrKeyClass: kSecAttrKeyClassPublic, kSecAttrLabel: "public"]) == publicKey)
    #expect(find([kSecAttrKeyClass: kSecAttrKeyClassPublic, kSecAttrApplicationTag: Data([1])]) == publicKey)
    #expect(publicKey != privateKey && publicKey == SecKeyCopyPublicKey(privateKey))

    var result: CFTypeRef?
    let data: [CFString: Any] = [kSecValueRef: publicKey, kSecReturnData: true]
    run { #expect(SecItemCopyMatching(data as CFDictionary, &result) == errSecSuccess) }
    #expect(result as? Data == SecKeyCopyExternalRepresentation(publicKey, nil) as Data?)
    let attributes: [CFString: Any] = [kSecClass: kSecClassKey, kSecValueRef: privateKey, kSecReturnAttributes: true]
    run { #expect(SecItemCopyMatching(attributes as CFDictionary, &result) == errSecSuccess) }
    #expect((result as? [String: Any])?[kSecAttrLabel as String] as? String == "private")
    run { #expect(SecItemDelete([kSecValueRef: privateKey] as CFDictionary) == errSecSuccess) }
    #expect(find([kSecAttrKeyClass: kSecAttrKeyClassPrivate]) == nil)
    #expect(find([kSecAttrKeyClass: kSecAttrKeyClassPublic]) == publicKey)
  }

  @Test("A key of the Secure Enclave is kept unless it is said that it is not; others only if it is said")
  func defaults() throws {
    let enclave: [CFString: Any] = [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave]
    _ = try pair(parameters([:]))
    _ = try pair(parameters([kSecAttrIsPermanent: false], [:], enclave))
    #expect(find([:]) == nil)
    let (_, key) = try pair(parameters([:], [:], enclave))
    #expect(find([:]) == key)
    #expect(find([kSecAttrTokenID: kSecAttrTokenIDSecureEnclave]) == key)
  }

  @Test("A public half is stored by reference, once")
  func publicHalf() throws {
    let (publicKey, _) = try pair(parameters())
    run {
      let item: [CFString: Any] = [kSecClass: kSecClassKey, kSecAttrLabel: "server", kSecValueRef: publicKey]
      var result: CFTypeRef?
      #expect(SecItemAdd(item.merging([kSecReturnRef: true]) { $1 } as CFDictionary, &result) == errSecSuccess)
      #expect(result as? SecKey == publicKey)
      #expect(SecItemAdd(item as CFDictionary, nil) == errSecDuplicateItem)
    }
    #expect(find([kSecAttrLabel: "server"]) == publicKey)
    let attributes = try #require(SecKeyCopyAttributes(publicKey) as? [String: Any])
    #expect(attributes[kSecAttrKeyClass as String] as? String == kSecAttrKeyClassPublic as String)
    #expect(attributes[kSecAttrKeySizeInBits as String] as? Int == 256)
  }

  // MARK: Equality and errors

  @Test("Access controls are equal where they ask the same")
  func equality() throws {
    func control(_ flags: SecAccessControlCreateFlags, _ accessible: CFString) throws -> SecAccessControl {
      try #require(SecAccessControlCreateWithFlags(nil, accessible, flags, nil))
    }
    let one = try control(.userPresence, kSecAttrAccessibleWhenUnlocked)
    let same = try control(.userPresence, kSecAttrAccessibleWhenUnlocked)
    #expect(one == same && one.hashValue == same.hashValue && CFEqual(one, same))
    #expect(try one != control(.devicePasscode, kSecAttrAccessibleWhenUnlocked))
    #expect(try !CFEqual(one, control(.userPresence, kSecAttrAccessibleAfterFirstUnlock)))
    let query: [String: AnyHashable] = [kSecAttrAccessControl as String: one]
    #expect(query[kSecAttrAccessControl as String] as? SecAccessControl == same)
  }

  @Test("An error's parts, by Core Foundation's functions")
  func errors() throws {
    var error: Unmanaged<CFError>?
    #expect(SecKeyCreateRandomKey([kSecAttrKeyType: kSecAttrKeyTypeRSA] as CFDictionary, &error) == nil)
    let failure = try #require(error?.takeRetainedValue())
    #expect(CFErrorGetDomain(failure) as String? == NSOSStatusErrorDomain)
    #expect(CFErrorGetCode(failure) == Int(errSecUnimplemented))
    let details = CFErrorCopyUserInfo(failure) as? [String: Any]
    #expect(details?[NSLocalizedDescriptionKey] as? String == CFErrorCopyDescription(failure) as String?)
  }
}
