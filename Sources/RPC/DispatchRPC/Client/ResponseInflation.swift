// Compressed responses: which may be, and what becomes of them.

struct ResponseInflation {
  private let limit: Int
  private let isOffered: Bool

  init(_ configuration: RPCClientConfiguration) {
    limit = configuration.maxResponseMessageBytes
    isOffered = configuration.acceptsCompression
  }

  /// A message that is not marked as compressed stays as it is.
  ///
  /// - Parameter compression: the encoding that the server names for its messages; `nil` for an unknown one.
  func inflate(
    _ message: inout MessageDeframer, _ compression: RPCCompression?, with gzip: Gzip
  ) throws(RPCError) {
    guard message.isCompressed else { return }
    guard compression != .identity else {
      throw RPCError(code: .internalError, message: "a message is marked as compressed, but there is no grpc-encoding")
    }
    guard compression == .gzip, isOffered else {
      throw RPCError(code: .internalError, message: "a message is compressed in a way that was not offered")
    }
    do throws(Gzip.Fault) {
      try message.inflate(with: gzip, limit: limit)
    } catch {
      throw Self.error(error)
    }
  }

  private static func error(_ fault: Gzip.Fault) -> RPCError {
    switch fault {
    case .tooLarge: RPCError(code: .resourceExhausted, message: "a response has more bytes than allowed")
    case .malformed: RPCError(code: .internalError, message: "a message is not in gzip, as it claims")
    }
  }
}
