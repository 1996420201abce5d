// The errors of this module.

/// Key material that cannot be used. Neither the code nor the message contains a byte of it.
public struct CryptoError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: Sendable, Hashable {
    /// Not one of the accepted encodings of a P-256 public key, or not a point of the curve.
    case invalidPublicKey
    /// Not a P-256 private key in PKCS#8 or SEC 1 PEM.
    case invalidPrivateKey
    /// A symmetric key of the wrong length, or evidently not random.
    case invalidSecret
    /// Stored bytes that are not a password's verifier: damaged, or of a newer version.
    case invalidVerifier
    /// The machine has no memory left.
    case outOfMemory
  }

  public var code: Code
  public var message: String

  public init(code: Code, message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
