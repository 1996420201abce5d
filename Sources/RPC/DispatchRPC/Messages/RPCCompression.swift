// How messages are compressed (grpc/grpc doc/compression.md), and what a peer says of it in its headers.

/// The compression of a message before it is sent. A message that would not become smaller is sent as it is.
///
/// Nothing is compressed unless the application asks for it: it pays for large messages on a slow line only, it takes
/// the event loop's time, and the length of compressed bytes tells a listener what a secret has in common with what an
/// attacker put beside it (CRIME, BREACH).
public enum RPCCompression: Hashable, Sendable {
  case identity
  case gzip
}

extension RPCCompression {
  /// For `grpc-accept-encoding`: what we read.
  static let acceptedEncodings: StaticString = "identity,gzip"

  /// The value of `grpc-encoding`; `nil` for one that we do not know.
  init?(encoding: UnsafeRawBufferPointer) {
    if encoding.equals("identity") {
      self = .identity
    } else if encoding.equals("gzip") {
      self = .gzip
    } else {
      return nil
    }
  }

  /// Returns true if a `grpc-accept-encoding` has gzip in its list.
  static func acceptsGzip(_ value: UnsafeRawBufferPointer) -> Bool {
    value.split(separator: UInt8(ascii: ",")).contains { part in
      let name = part.drop { $0 == UInt8(ascii: " ") }.prefix { $0 != UInt8(ascii: " ") }
      return UnsafeRawBufferPointer(rebasing: name).equals("gzip")
    }
  }
}
