internal import Crypto

/// An assertion by a key that was attested: the same app on the same device sends this request.
package struct AppAssertion: Sendable {
  /// The greatest so far, to be stored.
  package var counter: UInt32 { data.signCount }
  /// ECDSA P-256 over SHA-256, DER.
  package let signature: [UInt8]
  private let data: AuthenticatorData

  /// An assertion takes some 150.
  package static let maximumBytes = 4_096

  package struct Expectation: Sendable {
    package var appID: String
    package var clientDataHash: [UInt8]
    /// 04 ‖ x ‖ y on P-256.
    package var publicKey: [UInt8]
    package var previousCounter: UInt32

    package init(appID: String, clientDataHash: [UInt8], publicKey: [UInt8], previousCounter: UInt32) {
      self.appID = appID
      self.clientDataHash = clientDataHash
      self.publicKey = publicKey
      self.previousCounter = previousCounter
    }
  }

  package static func verify(_ bytes: [UInt8], _ expected: Expectation) throws(ProofError) -> AppAssertion {
    let assertion = try AppAssertion(bytes)
    try assertion.verify(by: expected.publicKey, over: expected.clientDataHash)
    try assertion.check(appID: expected.appID, previousCounter: expected.previousCounter)
    return assertion
  }

  // MARK: Step by step, for a caller that verifies signatures itself

  package init(_ bytes: [UInt8]) throws(ProofError) {
    guard bytes.count <= Self.maximumBytes else {
      throw ProofError(.malformedCBOR, "\(bytes.count) bytes, more than \(Self.maximumBytes)")
    }
    guard
      let map = try CBORReader.read(bytes).map, let signature = map["signature"]?.bytes,
      let authenticatorData = map["authenticatorData"]?.bytes
    else { throw ProofError(.malformedStatement, "signature or authenticatorData is missing") }
    self.signature = signature
    data = try AuthenticatorData(authenticatorData, as: .appAssertion)
  }

  /// Returns the message that the key signs: a hash, which the signature's algorithm hashes again.
  package func signedMessage(over clientDataHash: [UInt8]) -> [UInt8] {
    Array(SHA256.hash(data: data.bytes + clientDataHash))
  }

  /// - Parameter publicKey: 04 ‖ x ‖ y on P-256.
  package func verify(by publicKey: [UInt8], over clientDataHash: [UInt8]) throws(ProofError) {
    try PublicKey(p256Point: publicKey)
      .verify(signature, of: signedMessage(over: clientDataHash), .ecdsa(.sha256), "assertion")
  }

  /// - Parameter previousCounter: `nil`: it is compared elsewhere.
  package func check(appID: String, previousCounter: UInt32?) throws(ProofError) {
    guard data.rpIDHash == Array(SHA256.hash(data: Array(appID.utf8))) else {
      throw ProofError(.applicationDiffers, "the assertion is of another app")
    }
    guard previousCounter.map({ counter > $0 }) ?? true else {
      throw ProofError(.counterNotGrown, "the counter is \(counter), and was \(previousCounter ?? 0) before")
    }
  }
}
