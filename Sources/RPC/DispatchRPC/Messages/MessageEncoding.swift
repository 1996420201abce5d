/// The compression of the messages that a peer sends (grpc/grpc doc/compression.md), as its headers name it.
///
/// We send none: it pays for large messages on a slow line only, it takes the event loop's time, and the length of
/// compressed bytes tells a listener what a secret has in common with what an attacker put beside it (CRIME, BREACH).
enum MessageEncoding: Hashable, Sendable {
  case identity
  case gzip

  /// For `grpc-accept-encoding`: what we read.
  static let accepted: StaticString = "identity,gzip"

  /// The value of `grpc-encoding`; `nil` for one that we do not know.
  init?(_ value: UnsafeRawBufferPointer) {
    if value.equals("identity") {
      self = .identity
    } else if value.equals("gzip") {
      self = .gzip
    } else {
      return nil
    }
  }
}
