// The bytes that a device's key signs (R28, R33): ECDSA P-256 over their SHA-256.
//
// Every field is 4 bytes of length, big-endian, and then that many bytes; texts are UTF-8.

/// The content that a device approves in an evaluation. A signature over it is valid for nothing else.
public struct EvaluationTerms: Sendable {
  /// 32 random bytes of the evaluation, which stop replay.
  public var challenge: [UInt8]
  public var applicationID: String
  public var bindingID: String
  public var policyName: String
  public var purpose: EvaluationPolicy.Purpose
  /// `nil` without a payment.
  public var transaction: Transaction?

  public init(
    challenge: [UInt8], applicationID: String, bindingID: String, policyName: String,
    purpose: EvaluationPolicy.Purpose, transaction: Transaction?
  ) {
    self.challenge = challenge
    self.applicationID = applicationID
    self.bindingID = bindingID
    self.policyName = policyName
    self.purpose = purpose
    self.transaction = transaction
  }

  /// Seven fields:
  ///
  /// | field | bytes |
  /// |---|---|
  /// | tag | `touchstone evaluation v1` |
  /// | challenge | as issued |
  /// | application | text |
  /// | binding | text |
  /// | policy | text |
  /// | purpose | one byte: 1 login, 2 payment |
  /// | transaction | ``Transaction/canonicalBytes``; empty without one |
  public var signingInput: [UInt8] {
    var encoding = CanonicalBytes(tag: "touchstone evaluation v1", capacity: 512)
    encoding.append(challenge)
    encoding.append(applicationID)
    encoding.append(bindingID)
    encoding.append(policyName)
    encoding.append(CollectionOfOne(purpose.rawValue))
    encoding.append(transaction?.canonicalBytes ?? [])
    return encoding.bytes
  }
}

/// The bytes that a new key signs to prove that the device holds it (R28).
public struct BindingTerms: Sendable {
  /// 32 random bytes of the ticket.
  public var challenge: [UInt8]
  public var applicationID: String
  public var profileID: String
  public var deviceID: String

  public init(challenge: [UInt8], applicationID: String, profileID: String, deviceID: String) {
    self.challenge = challenge
    self.applicationID = applicationID
    self.profileID = profileID
    self.deviceID = deviceID
  }

  /// Five fields: the tag `touchstone binding v1`, challenge, application, profile, device.
  public var signingInput: [UInt8] {
    var encoding = CanonicalBytes(tag: "touchstone binding v1", capacity: 256)
    encoding.append(challenge)
    encoding.append(applicationID)
    encoding.append(profileID)
    encoding.append(deviceID)
    return encoding.bytes
  }
}
