// Keys (SecKey.h): P-256, in the simulated phone. SecKeyOperations.swift has their operations.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
internal import SimulatedPhone

/// A key of the phone, or the public half of one.
public final class SecKey {
  enum Kind {
    /// - Parameter context: its proofs open the key; `nil`: each use prompts again.
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

  /// The attributes that a keychain gives the key, whatever its app calls it.
  var identifyingAttributes: SimulatedPhone.KeychainItem.Attributes {
    StoredValue.encode([
      (kSecAttrApplicationLabel, Data(SimulatedPhone.Key.applicationLabel(of: publicKeyX963))),
      (kSecAttrKeyClass, isPublicHalf ? kSecAttrKeyClassPublic as String : kSecAttrKeyClassPrivate as String),
      (kSecAttrKeyType, kSecAttrKeyTypeECSECPrimeRandom as String), (kSecAttrKeySizeInBits, 256),
    ])
  }
}

/// Equal if they are the same half of the same key, as in Core Foundation.
extension SecKey: Hashable {
  public static func == (left: SecKey, right: SecKey) -> Bool {
    left.publicKeyX963 == right.publicKeyX963 && left.isPublicHalf == right.isPublicHalf
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(publicKeyX963)
  }
}

public func SecKeyGetTypeID() -> CFTypeID { 2 }

/// A new key in the phone, and with `kSecAttrIsPermanent` also in the app's keychain; keys of the Secure Enclave are
/// permanent by default.
/// - Returns: `nil`, and `errSecUnimplemented`, for anything but a P-256 key; `nil`, and `errSecAuthFailed`, if no
///   person could ever open it: no passcode is set, or nothing enrolled.
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

/// The key's own attributes; the keychain has those that the app gave it.
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
  key.identifyingAttributes.compactMapValues(StoredValue.decode) as NSDictionary
}

/// - Returns: for a public key 65 bytes, ANSI X9.63; for a key in the phone `nil`, because it stays there.
public func SecKeyCopyExternalRepresentation(
  _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
  guard case .publicHalf(let bytes) = key.kind else { return report(errSecUnimplemented, to: error) }
  return Data(bytes) as NSData
}

/// A public key from the 65 bytes that `SecKeyCopyExternalRepresentation` returned.
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

/// - Returns: always `nil`, for a caller without a context.
func report<Value>(_ status: OSStatus, to error: UnsafeMutablePointer<Unmanaged<CFError>?>?) -> Value? {
  error?.pointee = .status(status)
  return nil
}
