// Operations of keys (SecKey.h): sign, verify, encrypt, decrypt, agree.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
internal import SimulatedPhone

public enum SecKeyOperationType: Int, Sendable {
  case sign = 0
  case verify = 1
  case encrypt = 2
  case decrypt = 3
  case keyExchange = 4
}

public func SecKeyIsAlgorithmSupported(
  _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
  switch (algorithm.work, operation) {
  case (.signDigest?, .sign), (.signMessage?, .sign), (.encrypt?, .decrypt), (.agree?, .keyExchange): !key.isPublicHalf
  case (.signDigest?, .verify), (.signMessage?, .verify), (.encrypt?, .encrypt): key.isPublicHalf
  default: false
  }
}

/// Blocks during a prompt, if the key requires a proof; otherwise returns at once.
/// - Returns: `nil`, and an `LAError`, if no person proved their presence; `nil`, and `errSecItemNotFound`, if the key
///   is gone; `nil`, and `errSecParam`, if the key or the digest does not fit `algorithm`.
public func SecKeyCreateSignature(
  _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
  guard SecKeyIsAlgorithmSupported(key, .sign, algorithm),
    let (digest, format) = algorithm.digest(of: [UInt8](dataToSign as Data))
  else { return report(errSecParam, to: error) }
  return unlocked(key, error).map { Data($0.sign(digest: digest, format: format)) as NSData }
}

public func SecKeyVerifySignature(
  _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
  guard SecKeyIsAlgorithmSupported(key, .verify, algorithm),
    let (digest, format) = algorithm.digest(of: [UInt8](signedData as Data))
  else {
    error?.pointee = .status(errSecParam)
    return false
  }
  let isValid = SoftwareKey.isValid([UInt8](signature as Data), format, ofDigest: digest, by: key.publicKeyX963)
  if !isValid { error?.pointee = .status(errSecVerifyFailed) }
  return isValid
}

/// ECIES for the owner of a public key. Shows no prompt.
public func SecKeyCreateEncryptedData(
  _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
  guard SecKeyIsAlgorithmSupported(key, .encrypt, algorithm), case .encrypt(let scheme)? = algorithm.work,
    let message = scheme.encrypt([UInt8](plaintext as Data), to: key.publicKeyX963)
  else { return report(errSecParam, to: error) }
  return Data(message) as NSData
}

/// Blocks and fails as `SecKeyCreateSignature` does; data that cannot be decrypted is `errSecParam`.
public func SecKeyCreateDecryptedData(
  _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
  guard SecKeyIsAlgorithmSupported(key, .decrypt, algorithm), case .encrypt(let scheme)? = algorithm.work
  else { return report(errSecParam, to: error) }
  guard let unlocked = unlocked(key, error) else { return nil }
  guard let plaintext = unlocked.decrypt([UInt8](ciphertext as Data), by: scheme)
  else { return report(errSecParam, to: error) }
  return Data(plaintext) as NSData
}

/// The parameters of a derivation of `SecKeyCopyKeyExchangeResult`.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, Sendable {
  private let name: String

  public init(rawValue: CFString) {
    name = rawValue as String
  }

  public var rawValue: CFString { name as NSString }

  /// In bytes; derivations require it.
  public static let requestedSize = Self(rawValue: "requestedSize")
  public static let sharedInfo = Self(rawValue: "sharedInfo")
}

/// Blocks and fails as `SecKeyCreateSignature` does.
public func SecKeyCopyKeyExchangeResult(
  _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey, _ parameters: CFDictionary,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
  guard SecKeyIsAlgorithmSupported(privateKey, .keyExchange, algorithm), publicKey.isPublicHalf,
    case .agree(let hash)? = algorithm.work
  else { return report(errSecParam, to: error) }
  var derivation: KeyDerivation?
  if let hash {
    let query = KeychainQuery(parameters)
    guard let size = query.integer(SecKeyKeyExchangeParameter.requestedSize.rawValue),
      1...maximumDerivedSize ~= size
    else { return report(errSecParam, to: error) }
    let sharedInfo = query.data(SecKeyKeyExchangeParameter.sharedInfo.rawValue) ?? Data()
    derivation = KeyDerivation(hash, sharedInfo: [UInt8](sharedInfo), byteCount: size)
  }
  guard let unlocked = unlocked(privateKey, error) else { return nil }
  guard let result = unlocked.agree(with: publicKey.publicKeyX963, deriving: derivation)
  else { return report(errSecParam, to: error) }
  return Data(result) as NSData
}

/// Far more than any key needs, and far below the derivation's own limit.
private let maximumDerivedSize = 1 << 20

// MARK: Under the names of iOS 2 to 14

public struct SecPadding: OptionSet, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  public static let PKCS1 = Self(rawValue: 1)
  public static let OAEP = Self(rawValue: 2)
  public static let sigRaw = Self(rawValue: 0x4000)
  public static let PKCS1MD2 = Self(rawValue: 0x8000)
  public static let PKCS1MD5 = Self(rawValue: 0x8001)
  public static let PKCS1SHA1 = Self(rawValue: 0x8002)
  public static let PKCS1SHA224 = Self(rawValue: 0x8003)
  public static let PKCS1SHA256 = Self(rawValue: 0x8004)
  public static let PKCS1SHA384 = Self(rawValue: 0x8005)
  public static let PKCS1SHA512 = Self(rawValue: 0x8006)

  /// For keys on elliptic curves, which pad nothing: everything except `sigRaw` is DER.
  fileprivate var algorithm: SecKeyAlgorithm {
    self == .sigRaw ? .ecdsaSignatureRFC4754 : .ecdsaSignatureDigestX962
  }
}

/// Signs a digest. Blocks during a prompt, if the key requires a proof.
/// - Parameter sigLen: the room at `sig`; then the written length.
public func SecKeyRawSign(
  _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>, _ dataToSignLen: Int,
  _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
  var error: Unmanaged<CFError>?
  let digest = Data(bytes: dataToSign, count: dataToSignLen) as NSData
  guard let signature = SecKeyCreateSignature(key, padding.algorithm, digest, &error) else {
    return error?.takeRetainedValue().status ?? errSecInternalComponent
  }
  guard signature.count <= sigLen.pointee else { return errSecParam }
  (signature as Data).copyBytes(to: sig, count: signature.count)
  sigLen.pointee = signature.count
  return errSecSuccess
}

/// - Returns: `errSSLCrypto` if the signature does not fit this digest.
public func SecKeyRawVerify(
  _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>, _ signedDataLen: Int,
  _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
  var error: Unmanaged<CFError>?
  let digest = Data(bytes: signedData, count: signedDataLen) as NSData
  let signature = Data(bytes: sig, count: sigLen) as NSData
  if SecKeyVerifySignature(key, padding.algorithm, digest, signature, &error) { return errSecSuccess }
  let status = error?.takeRetainedValue().status ?? errSecInternalComponent
  return status == errSecVerifyFailed ? errSSLCrypto : status
}

// MARK: Shared parts

extension SecKeyAlgorithm {
  /// The bytes to sign, and the signature's format; `nil`: the algorithm signs none of this.
  fileprivate func digest(of input: [UInt8]) -> ([UInt8], SignatureFormat)? {
    switch work {
    case .signMessage(let hash, let format)?: (hash.digest(of: input), format)
    case .signDigest(let hash, let format)? where hash.map { $0.byteCount == input.count } ?? true: (input, format)
    default: nil
    }
  }
}

/// The private half, after the person proved their presence if the key requires it.
private func unlocked(_ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?) -> SoftwareKey? {
  guard case .inPhone(let key, let simulation, let context) = key.kind else { return report(errSecParam, to: error) }
  let session = context ?? ContextSession(simulation)
  if let refusal = session.proveAndWait(until: { phone, proven in phone.demand(of: key, after: proven) }) {
    error?.pointee = .passRetained(refusal as NSError)
    return nil
  }
  do throws(SimulatedPhone.SigningError) {
    return try simulation.phone.unlocked(key, after: session.authentications)
  } catch let failure {
    return report(failure == .keyNotFound ? errSecItemNotFound : errSecAuthFailed, to: error)
  }
}

extension NSError {
  /// The status of a function that returns one.
  fileprivate var status: OSStatus {
    if let refusal = (self as any Error) as? LAError { return refusal.keychainStatus }
    return OSStatus(truncatingIfNeeded: code)
  }
}
