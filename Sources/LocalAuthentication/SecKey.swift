// Keys (SecKey.h): P-256, in the simulated phone. What they do is in SecKeyOperations.swift.
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

  var publicKeyX963: [UInt8] {
    switch kind {
    case .inPhone(let key, _, _): key.publicKeyX963
    case .publicHalf(let bytes): bytes
    }
  }

  var isPublicHalf: Bool {
    if case .publicHalf = kind { true } else { false }
  }

  /// Those that a keychain knows the key by, whatever its app calls it.
  var identifyingAttributes: SimulatedPhone.KeychainItem.Attributes {
    StoredValue.encode([
      (kSecAttrApplicationLabel, Data(SimulatedPhone.Key.applicationLabel(of: publicKeyX963))),
      (kSecAttrKeyClass, isPublicHalf ? kSecAttrKeyClassPublic as String : kSecAttrKeyClassPrivate as String),
      (kSecAttrKeyType, kSecAttrKeyTypeECSECPrimeRandom as String), (kSecAttrKeySizeInBits, 256),
    ])
  }
}

/// Equal where they are the same half of the same key, as Core Foundation has it.
extension SecKey: Hashable {
  public static func == (left: SecKey, right: SecKey) -> Bool {
    left.publicKeyX963 == right.publicKeyX963 && left.isPublicHalf == right.isPublicHalf
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(publicKeyX963)
  }
}

public func SecKeyGetTypeID() -> CFTypeID { 2 }

/// A new key in the phone, and with `kSecAttrIsPermanent` in the app's keychain; without a word about that, too, where it is
/// one of the Secure Enclave.
/// - Returns: `nil`, and `errSecUnimplemented`, for anything but a P-256 key; `nil`, and `errSecAuthFailed`, where nobody
///   could ever open it: no passcode is set, or nothing enrolled.
public func SecKeyCreateRandomKey(
  _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
  do throws(KeychainRefusal) {
    return try makeKey(KeychainQuery(parameters))
  } catch let refusal {
    return report(refusal.status, to: error)
  }
}

/// The same with both halves: the name of iOS 2 to 14.
public func SecKeyGeneratePair(
  _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?, _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
  do throws(KeychainRefusal) {
    let key = try makeKey(KeychainQuery(parameters))
    privateKey?.pointee = key
    publicKey?.pointee = SecKeyCopyPublicKey(key)
    return errSecSuccess
  } catch {
    return error.status
  }
}

private func makeKey(_ query: KeychainQuery) throws(KeychainRefusal) -> SecKey {
  guard query.string(kSecAttrKeyType) == kSecAttrKeyTypeECSECPrimeRandom as String,
    query.integer(kSecAttrKeySizeInBits) == 256
  else { throw KeychainRefusal(status: errSecUnimplemented) }
  let privateHalf = query.merged(kSecPrivateKeyAttrs)
  let publicHalf = query.merged(kSecPublicKeyAttrs)
  let simulation = privateHalf.context?.simulation ?? LASimulation.current
  guard
    let made = try? simulation.phone.makeKey(
      accessControl: privateHalf.accessControl ?? .init(), application: simulation.application)
  else { throw KeychainRefusal(status: errSecAuthFailed) }
  let key = SecKey(.inPhone(made, simulation, context: privateHalf.context))
  do throws(KeychainRefusal) {
    if publicHalf.bool(kSecAttrIsPermanent) ?? false {
      try addKey(SecKey(.publicHalf(key.publicKeyX963)), publicHalf, to: simulation)
    }
    if privateHalf.bool(kSecAttrIsPermanent) ?? (privateHalf.string(kSecAttrTokenID) != nil) {
      try addKey(key, privateHalf, to: simulation)
    }
  } catch {
    simulation.phone.deleteKey(made)
    throw error
  }
  return key
}

public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
  SecKey(.publicHalf(key.publicKeyX963))
}

/// What the key is; what its app calls it is in the keychain.
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
  key.identifyingAttributes.compactMapValues(StoredValue.decode) as NSDictionary
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

/// - Returns: always `nil`, for a caller that has nothing to give.
func report<Value>(_ status: OSStatus, to error: UnsafeMutablePointer<Unmanaged<CFError>?>?) -> Value? {
  error?.pointee = .status(status)
  return nil
}
