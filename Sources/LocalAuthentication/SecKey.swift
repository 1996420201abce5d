// Keys (SecKey.h): P-256 for signatures, in the simulated phone.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
internal import SimulatedPhone

/// A key of the phone's, or the public half of one.
public final class SecKey {
  enum Kind {
    /// - Parameter context: whose proofs open it; `nil`: each use asks anew.
    case inPhone(SimulatedPhone.Key, LASimulation, context: ContextSession?)
    /// 65 bytes.
    case publicHalf([UInt8])
  }

  let kind: Kind

  init(_ kind: Kind) {
    self.kind = kind
  }
}

public func SecKeyGetTypeID() -> CFTypeID { 2 }

/// An algorithm by Apple's name for it. Signatures by `ecdsaSignatureMessageX962SHA256` are all that is simulated:
/// `SecKeyIsAlgorithmSupported` denies the others, as it does on a phone for a key of another kind.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
  private let name: String

  public init(rawValue: CFString) {
    name = rawValue as String
  }

  public var rawValue: CFString { name as NSString }

  public static let ecdsaSignatureMessageX962SHA256 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA256")
  public static let ecdsaSignatureMessageX962SHA384 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA384")
  public static let ecdsaSignatureMessageX962SHA512 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA512")
  public static let ecdsaSignatureDigestX962SHA256 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA256")
  public static let ecdsaSignatureMessageRFC4754SHA256 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA256")
  public static let eciesEncryptionCofactorX963SHA256AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")
  public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")
}

public enum SecKeyOperationType: Int, Sendable {
  case sign = 0
  case verify = 1
  case encrypt = 2
  case decrypt = 3
  case keyExchange = 4
}

/// A new key in the phone; with `kSecAttrIsPermanent`, in the app's keychain too.
/// - Returns: `nil`, and `errSecUnimplemented`, for anything but a P-256 key; `nil`, and `errSecAuthFailed`, where nobody
///   could ever open it: no passcode is set, or nothing enrolled.
public func SecKeyCreateRandomKey(
  _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
  let query = KeychainQuery(parameters)
  guard query.string(kSecAttrKeyType) == kSecAttrKeyTypeECSECPrimeRandom as String,
    query.integer(kSecAttrKeySizeInBits) == 256
  else { return report(errSecUnimplemented, to: error) }
  let privateHalf = query.nested(kSecPrivateKeyAttrs)
  let simulation = privateHalf.context?.simulation ?? LASimulation.current
  guard
    let key = try? simulation.phone.makeKey(
      accessControl: privateHalf.accessControl, application: simulation.application)
  else { return report(errSecAuthFailed, to: error) }
  if privateHalf.bool(kSecAttrIsPermanent) {
    let status = addKey(key, privateHalf.attributesOfNewItem, to: simulation)
    guard status == errSecSuccess else { return report(status, to: error) }
  }
  return SecKey(.inPhone(key, simulation, context: privateHalf.context))
}

public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
  SecKey(.publicHalf(key.publicKeyX963))
}

/// - Returns: of a public key 65 bytes, ANSI X9.63; of a key in the phone `nil`: it stays there.
public func SecKeyCopyExternalRepresentation(
  _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
  guard case .publicHalf(let bytes) = key.kind else { return report(errSecUnimplemented, to: error) }
  return Data(bytes) as NSData
}

/// A public key out of the 65 bytes that `SecKeyCopyExternalRepresentation` gave.
public func SecKeyCreateWithData(
  _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
  let query = KeychainQuery(attributes)
  let bytes = [UInt8](keyData as Data)
  guard query.string(kSecAttrKeyClass) == kSecAttrKeyClassPublic as String,
    query.string(kSecAttrKeyType) == kSecAttrKeyTypeECSECPrimeRandom as String
  else { return report(errSecUnimplemented, to: error) }
  guard bytes.count == 65, bytes[0] == 4 else { return report(errSecParam, to: error) }
  return SecKey(.publicHalf(bytes))
}

public func SecKeyIsAlgorithmSupported(
  _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
  guard algorithm == .ecdsaSignatureMessageX962SHA256 else { return false }
  switch key.kind {
  case .inPhone: return operation == .sign
  case .publicHalf: return operation == .verify
  }
}

/// Blocks while the person is asked, where the key asks for it.
/// - Returns: `nil`, and an `LAError`, where nobody proved to be present; `nil`, and `errSecItemNotFound`, where the key
///   is gone.
public func SecKeyCreateSignature(
  _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
  guard SecKeyIsAlgorithmSupported(key, .sign, algorithm),
    case .inPhone(let key, let simulation, let context) = key.kind
  else { return report(errSecParam, to: error) }
  let session = context ?? ContextSession(simulation)
  if let refusal = session.proveAndWait(until: { phone, proven in phone.demand(of: key, after: proven) }) {
    error?.pointee = .passRetained(refusal as NSError)
    return nil
  }
  let message = [UInt8](dataToSign as Data)
  guard let signature = try? simulation.phone.sign(message, with: key, after: session.authentications)
  else { return report(errSecItemNotFound, to: error) }
  return Data(signature) as NSData
}

public func SecKeyVerifySignature(
  _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
  guard SecKeyIsAlgorithmSupported(key, .verify, algorithm) else {
    error?.pointee = .status(errSecParam)
    return false
  }
  let isValid = SoftwareKey.isValid(
    [UInt8](signature as Data), of: [UInt8](signedData as Data), by: key.publicKeyX963)
  if !isValid { error?.pointee = .status(errSecAuthFailed) }
  return isValid
}

extension SecKey {
  fileprivate var publicKeyX963: [UInt8] {
    switch kind {
    case .inPhone(let key, _, _): key.publicKeyX963
    case .publicHalf(let bytes): bytes
    }
  }
}

/// - Returns: always `nil`, for a caller that has nothing to give.
private func report<Value>(_ status: OSStatus, to error: UnsafeMutablePointer<Unmanaged<CFError>?>?) -> Value? {
  error?.pointee = .status(status)
  return nil
}
