// An assertion by a key that was attested: the same app on the same device sends this request.

internal import Crypto

package struct AppAssertion: Sendable {
  /// The greatest so far, to be stored.
  package let counter: UInt32

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
    guard
      let map = try CBORReader.read(bytes).map, let signature = map["signature"]?.bytes,
      let authenticatorData = map["authenticatorData"]?.bytes
    else { throw ProofError(.malformedStatement, "signature or authenticatorData is missing") }
    let data = try AuthenticatorData(authenticatorData, as: .appAssertion)
    let nonce = Array(SHA256.hash(data: authenticatorData + expected.clientDataHash))
    try PublicKey(p256Point: expected.publicKey).verify(signature, of: nonce, .ecdsa(.sha256), "assertion")
    guard data.rpIDHash == Array(SHA256.hash(data: Array(expected.appID.utf8))) else {
      throw ProofError(.applicationDiffers, "the assertion is of another app")
    }
    guard data.signCount > expected.previousCounter else {
      throw ProofError(
        .counterNotGrown, "the counter is \(data.signCount), and was \(expected.previousCounter) before")
    }
    return AppAssertion(counter: data.signCount)
  }
}
