// Why the keys could not be loaded: for the person who starts the service.

/// Names the file and the reason; never holds its content.
public struct KeyRingError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: Sendable, Hashable {
    /// Users other than the owner, or those that the owner gave it to, may read it.
    case exposed
    /// It belongs to another user than the service's or root.
    case foreignOwner
    /// A symbolic link, a device, a directory: not the plain file or directory that it should be.
    case wrongFileType
    /// It cannot be parsed, or has the wrong length.
    case malformed
    /// It should be there, since others that were made after it are.
    case missing
    /// Its name says nothing.
    case unexpectedFile
    /// Two files hold one key.
    case duplicateKey
    /// It is not made anew.
    case exists
    case tooManyKeys
    /// A system call failed.
    case system
  }

  public var code: Code
  public var path: String
  public var reason: String

  public init(code: Code, path: String, reason: String) {
    self.code = code
    self.path = path
    self.reason = reason
  }

  public var description: String { "\(path): \(reason)" }
}
