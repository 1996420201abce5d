// The bytes that a genuine app vouches for with its App Attest key (R43): `clientDataHash` is their SHA-256.
//
// The encoding is that of the signed messages. The app builds these bytes itself.

/// A device's report about itself, as its app sent it.
public struct PostureTerms: Sendable, Hashable {
  public var platform: String
  public var osVersion: String
  public var deviceModel: String
  /// The number in the API.
  public var biometryType: UInt8
  public var isBiometryAvailable: Bool
  public var isBiometryEnrolled: Bool
  public var isBiometryLockedOut: Bool
  public var isPasscodeSet: Bool
  public var domainState: [UInt8]

  public init(
    platform: String, osVersion: String, deviceModel: String, biometryType: UInt8, isBiometryAvailable: Bool,
    isBiometryEnrolled: Bool, isBiometryLockedOut: Bool, isPasscodeSet: Bool, domainState: [UInt8]
  ) {
    self.platform = platform
    self.osVersion = osVersion
    self.deviceModel = deviceModel
    self.biometryType = biometryType
    self.isBiometryAvailable = isBiometryAvailable
    self.isBiometryEnrolled = isBiometryEnrolled
    self.isBiometryLockedOut = isBiometryLockedOut
    self.isPasscodeSet = isPasscodeSet
    self.domainState = domainState
  }

  /// Ten fields: the tag `touchstone posture v1`, then those of the message `DevicePosture` in the order of their
  /// numbers. Texts and the domain state are as they were sent; the biometry type and the four booleans (1: true) are
  /// one byte each.
  public var canonicalBytes: [UInt8] {
    var encoding = CanonicalBytes(tag: "touchstone posture v1", capacity: 256)
    encoding.append(platform)
    encoding.append(osVersion)
    encoding.append(deviceModel)
    encoding.append(CollectionOfOne(biometryType))
    for flag in [isBiometryAvailable, isBiometryEnrolled, isBiometryLockedOut, isPasscodeSet] {
      encoding.append(CollectionOfOne(flag ? 1 : 0))
    }
    encoding.append(domainState)
    return encoding.bytes
  }
}

/// The data that an app vouches for when its device is bound.
public struct BindingClientData: Sendable {
  /// ``BindingTerms/signingInput`` of the ticket.
  public var signingInput: [UInt8]
  public var posture: PostureTerms
  /// In the order of the request.
  public var keys: [Key]

  public struct Key: Sendable {
    /// On P-256 X9.63 uncompressed, 65 bytes, in whatever form it was sent; SubjectPublicKeyInfo of an RSA key.
    public var publicKey: [UInt8]
    /// A hybrid key's other half (R48); empty: P-256 alone.
    public var mlDSA65PublicKey: [UInt8]
    public var protection: KeyProtection

    public init(publicKey: [UInt8], mlDSA65PublicKey: [UInt8] = [], protection: KeyProtection) {
      self.publicKey = publicKey
      self.mlDSA65PublicKey = mlDSA65PublicKey
      self.protection = protection
    }
  }

  public init(signingInput: [UInt8], posture: PostureTerms, keys: [Key]) {
    self.signingInput = signingInput
    self.posture = posture
    self.keys = keys
  }

  /// Three fields and three for each key: the tag `touchstone app attest binding v1`, the signing input,
  /// ``PostureTerms/canonicalBytes``; the public key, that for ML-DSA-65, and the protection as one byte with
  /// the number in the API.
  public var bytes: [UInt8] {
    var encoding = CanonicalBytes(tag: "touchstone app attest binding v1", capacity: 1_024)
    encoding.append(signingInput)
    encoding.append(posture.canonicalBytes)
    for key in keys {
      encoding.append(key.publicKey)
      encoding.append(key.mlDSA65PublicKey)
      encoding.append(CollectionOfOne(key.protection.rawValue))
    }
    return encoding.bytes
  }
}

/// The data that an app vouches for in an attempt.
public struct AttemptClientData: Sendable {
  /// ``EvaluationTerms/signingInput``
  public var signingInput: [UInt8]
  /// By the binding's key, as it is sent: it serves no other app's attempt.
  public var signature: [UInt8]
  /// A hybrid key's second one (R48); empty: P-256 alone.
  public var mlDSA65Signature: [UInt8]
  public var posture: PostureTerms

  public init(signingInput: [UInt8], signature: [UInt8], mlDSA65Signature: [UInt8] = [], posture: PostureTerms) {
    self.signingInput = signingInput
    self.signature = signature
    self.mlDSA65Signature = mlDSA65Signature
    self.posture = posture
  }

  /// Five fields: the tag `touchstone app attest attempt v1`, the signing input, the signature, the one by ML-DSA-65,
  /// ``PostureTerms/canonicalBytes``.
  public var bytes: [UInt8] {
    var encoding = CanonicalBytes(tag: "touchstone app attest attempt v1", capacity: 1_024)
    encoding.append(signingInput)
    encoding.append(signature)
    encoding.append(mlDSA65Signature)
    encoding.append(posture.canonicalBytes)
    return encoding.bytes
  }
}
