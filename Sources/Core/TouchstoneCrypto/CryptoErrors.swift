/// Why the keys could not be loaded, for the operator. Names the file and the reason; never contains its content.
public struct KeyRingError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: Sendable, Hashable {
    /// Users other than the owner, or than those whom the owner granted access, may read it.
    case exposed
    /// It belongs to another user than the service's or root.
    case foreignOwner
    /// A symbolic link, a device or a directory, instead of a plain file or directory.
    case wrongFileType
    /// It cannot be parsed, or has the wrong length.
    case malformed
    /// It should exist, because later files exist.
    case missing
    /// Its name is not a key's.
    case unexpectedFile
    /// Two files hold the same key.
    case duplicateKey
    /// It is never made again.
    case exists
    case tooManyKeys
    /// A system call failed.
    case system
  }

  public var code: Code
  public var path: String
  public var reason: String

  public var description: String { "\(path): \(reason)" }
}

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
