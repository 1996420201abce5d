// Why certificates and keys cannot be used.

/// An error that names the file at fault, if there is one, and never quotes a file.
public struct RPCTLSError: Error, Hashable, Sendable, CustomStringConvertible {
  public var file: String?
  public var reason: String

  public init(file: String? = nil, reason: String) {
    self.file = file
    self.reason = reason
  }

  public var description: String {
    if let file { "\(file): \(reason)" } else { reason }
  }
}
