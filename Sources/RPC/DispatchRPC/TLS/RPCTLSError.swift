// Why certificates and keys cannot be used.

/// Names the file where one is at fault, and never what a file says.
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
