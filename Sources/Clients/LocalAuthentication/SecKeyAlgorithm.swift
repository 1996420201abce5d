// The algorithms of keys, by Apple's names (SecKey.h).

public import Foundation
internal import SimulatedPhone

/// An algorithm. Keys of the simulated phone are P-256: they sign by ECDSA, encrypt by ECIES and agree by ECDH, each
/// with SHA-1, SHA-256, SHA-384 and SHA-512. `SecKeyIsAlgorithmSupported` is false for the others, as on a phone for a
/// key of another kind.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
  private let name: String

  public init(rawValue: CFString) {
    name = rawValue as String
  }

  public var rawValue: CFString { name as NSString }
}

// RSA signatures.
extension SecKeyAlgorithm {
  public static let rsaSignatureRaw = Self(rawValue: "algid:sign:RSA:raw")
  public static let rsaSignatureDigestPKCS1v15Raw = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15")
  public static let rsaSignatureDigestPKCS1v15SHA1 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA1")
  public static let rsaSignatureDigestPKCS1v15SHA224 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA224")
  public static let rsaSignatureDigestPKCS1v15SHA256 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA256")
  public static let rsaSignatureDigestPKCS1v15SHA384 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA384")
  public static let rsaSignatureDigestPKCS1v15SHA512 = Self(rawValue: "algid:sign:RSA:digest-PKCS1v15:SHA512")
  public static let rsaSignatureDigestPSSSHA1 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA1:SHA1:20")
  public static let rsaSignatureDigestPSSSHA224 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA224:SHA224:24")
  public static let rsaSignatureDigestPSSSHA256 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA256:SHA256:32")
  public static let rsaSignatureDigestPSSSHA384 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA384:SHA384:48")
  public static let rsaSignatureDigestPSSSHA512 = Self(rawValue: "algid:sign:RSA:digest-PSS:SHA512:SHA512:64")
  public static let rsaSignatureMessagePKCS1v15SHA1 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA1")
  public static let rsaSignatureMessagePKCS1v15SHA224 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA224")
  public static let rsaSignatureMessagePKCS1v15SHA256 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA256")
  public static let rsaSignatureMessagePKCS1v15SHA384 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA384")
  public static let rsaSignatureMessagePKCS1v15SHA512 = Self(rawValue: "algid:sign:RSA:message-PKCS1v15:SHA512")
  public static let rsaSignatureMessagePSSSHA1 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA1:SHA1:20")
  public static let rsaSignatureMessagePSSSHA224 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA224:SHA224:24")
  public static let rsaSignatureMessagePSSSHA256 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA256:SHA256:32")
  public static let rsaSignatureMessagePSSSHA384 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA384:SHA384:48")
  public static let rsaSignatureMessagePSSSHA512 = Self(rawValue: "algid:sign:RSA:message-PSS:SHA512:SHA512:64")
}

// RSA encryption.
extension SecKeyAlgorithm {
  public static let rsaEncryptionRaw = Self(rawValue: "algid:encrypt:RSA:raw")
  public static let rsaEncryptionPKCS1 = Self(rawValue: "algid:encrypt:RSA:PKCS1")
  public static let rsaEncryptionOAEPSHA1 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA1")
  public static let rsaEncryptionOAEPSHA224 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA224")
  public static let rsaEncryptionOAEPSHA256 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA256")
  public static let rsaEncryptionOAEPSHA384 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA384")
  public static let rsaEncryptionOAEPSHA512 = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA512")
  public static let rsaEncryptionOAEPSHA1AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA1:AESGCM")
  public static let rsaEncryptionOAEPSHA224AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA224:AESGCM")
  public static let rsaEncryptionOAEPSHA256AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA256:AESGCM")
  public static let rsaEncryptionOAEPSHA384AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA384:AESGCM")
  public static let rsaEncryptionOAEPSHA512AESGCM = Self(rawValue: "algid:encrypt:RSA:OAEP:SHA512:AESGCM")
}

// ECDSA.
extension SecKeyAlgorithm {
  public static let ecdsaSignatureRFC4754 = Self(rawValue: "algid:sign:ECDSA:RFC4754")
  public static let ecdsaSignatureDigestX962 = Self(rawValue: "algid:sign:ECDSA:digest-X962")
  public static let ecdsaSignatureDigestX962SHA1 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA1")
  public static let ecdsaSignatureDigestX962SHA224 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA224")
  public static let ecdsaSignatureDigestX962SHA256 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA256")
  public static let ecdsaSignatureDigestX962SHA384 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA384")
  public static let ecdsaSignatureDigestX962SHA512 = Self(rawValue: "algid:sign:ECDSA:digest-X962:SHA512")
  public static let ecdsaSignatureMessageX962SHA1 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA1")
  public static let ecdsaSignatureMessageX962SHA224 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA224")
  public static let ecdsaSignatureMessageX962SHA256 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA256")
  public static let ecdsaSignatureMessageX962SHA384 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA384")
  public static let ecdsaSignatureMessageX962SHA512 = Self(rawValue: "algid:sign:ECDSA:message-X962:SHA512")
  public static let ecdsaSignatureDigestRFC4754 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754")
  public static let ecdsaSignatureDigestRFC4754SHA1 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA1")
  public static let ecdsaSignatureDigestRFC4754SHA224 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA224")
  public static let ecdsaSignatureDigestRFC4754SHA256 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA256")
  public static let ecdsaSignatureDigestRFC4754SHA384 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA384")
  public static let ecdsaSignatureDigestRFC4754SHA512 = Self(rawValue: "algid:sign:ECDSA:digest-RFC4754:SHA512")
  public static let ecdsaSignatureMessageRFC4754SHA1 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA1")
  public static let ecdsaSignatureMessageRFC4754SHA224 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA224")
  public static let ecdsaSignatureMessageRFC4754SHA256 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA256")
  public static let ecdsaSignatureMessageRFC4754SHA384 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA384")
  public static let ecdsaSignatureMessageRFC4754SHA512 = Self(rawValue: "algid:sign:ECDSA:message-RFC4754:SHA512")
}

// ECIES.
extension SecKeyAlgorithm {
  public static let eciesEncryptionStandardX963SHA1AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM")
  public static let eciesEncryptionStandardX963SHA224AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM")
  public static let eciesEncryptionStandardX963SHA256AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM")
  public static let eciesEncryptionStandardX963SHA384AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM")
  public static let eciesEncryptionStandardX963SHA512AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM")
  public static let eciesEncryptionCofactorX963SHA1AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM")
  public static let eciesEncryptionCofactorX963SHA224AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM")
  public static let eciesEncryptionCofactorX963SHA256AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")
  public static let eciesEncryptionCofactorX963SHA384AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM")
  public static let eciesEncryptionCofactorX963SHA512AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM")
  public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")
  public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")
  public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")
  public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")
  public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")
  public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")
  public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")
  public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM = Self(
    rawValue: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}

// Key agreement.
extension SecKeyAlgorithm {
  public static let ecdhKeyExchangeStandard = Self(rawValue: "algid:keyexchange:ECDH")
  public static let ecdhKeyExchangeStandardX963SHA1 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA1")
  public static let ecdhKeyExchangeStandardX963SHA224 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA224")
  public static let ecdhKeyExchangeStandardX963SHA256 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA256")
  public static let ecdhKeyExchangeStandardX963SHA384 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA384")
  public static let ecdhKeyExchangeStandardX963SHA512 = Self(rawValue: "algid:keyexchange:ECDH:KDFX963:SHA512")
  public static let ecdhKeyExchangeCofactor = Self(rawValue: "algid:keyexchange:ECDHC")
  public static let ecdhKeyExchangeCofactorX963SHA1 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA1")
  public static let ecdhKeyExchangeCofactorX963SHA224 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA224")
  public static let ecdhKeyExchangeCofactorX963SHA256 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA256")
  public static let ecdhKeyExchangeCofactorX963SHA384 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA384")
  public static let ecdhKeyExchangeCofactorX963SHA512 = Self(rawValue: "algid:keyexchange:ECDHC:KDFX963:SHA512")
}

/// The operation of a P-256 key for an algorithm.
enum KeyWork: Hashable {
  /// - hash: `nil`: of the digest nothing is known.
  case signDigest(KeyHash?, SignatureFormat)
  case signMessage(KeyHash, SignatureFormat)
  case encrypt(ECIES)
  /// - hash: `nil`: the secret itself is the result.
  case agree(KeyHash?)
}

extension SecKeyAlgorithm {
  /// Read from the parts of the name; `nil`: not for a P-256 key, or with a missing hash function.
  var work: KeyWork? {
    let parts = name.split(separator: ":").map(String.init)
    guard parts.count > 2, parts[0] == "algid" else { return nil }
    let details = Array(parts.dropFirst(3))
    switch (parts[1], parts[2]) {
    case ("sign", "ECDSA"): return Self.signature(details)
    case ("encrypt", "ECIES"): return Self.encryption(details)
    case ("keyexchange", "ECDH"), ("keyexchange", "ECDHC"): return Self.agreement(details)
    default: return nil
    }
  }

  private static func signature(_ details: [String]) -> KeyWork? {
    guard let kind = details.first, details.count < 3 else { return nil }
    let hash = details.count == 2 ? KeyHash(rawValue: details[1]) : nil
    if details.count == 2, hash == nil { return nil }
    switch (kind, hash) {
    case ("RFC4754", nil), ("digest-RFC4754", _): return .signDigest(hash, .rfc4754)
    case ("digest-X962", _): return .signDigest(hash, .x962)
    case ("message-RFC4754", let hash?): return .signMessage(hash, .rfc4754)
    case ("message-X962", let hash?): return .signMessage(hash, .x962)
    default: return nil
    }
  }

  private static func encryption(_ details: [String]) -> KeyWork? {
    guard details.count == 4, ["ECDH", "ECDHC"].contains(details[0]), details[1] == "KDFX963",
      ["AESGCM", "AESGCM-KDFIV"].contains(details[3])
    else { return nil }
    return KeyHash(rawValue: details[2]).map { .encrypt(ECIES($0, isVectorDerived: details[3] == "AESGCM-KDFIV")) }
  }

  private static func agreement(_ details: [String]) -> KeyWork? {
    if details.isEmpty { return .agree(nil) }
    guard details.count == 2, details[0] == "KDFX963" else { return nil }
    return KeyHash(rawValue: details[1]).map { .agree($0) }
  }
}
