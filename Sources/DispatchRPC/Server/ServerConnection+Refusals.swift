// Requests that no handler sees: what the client is told instead.

extension ServerConnection {
  func refuse(_ stream: Stream, _ code: RPCCode, _ message: String) {
    sendStatus(code, message, on: stream)
  }

  func refuse(_ stream: Stream, _ refusal: RequestHead.Refusal) {
    switch refusal {
    case .status(let code, let message):
      refuse(stream, code, message.rawValue)
    case .http(let refusal):
      shard.headerBlock.removeAll()
      switch refusal {
      case .methodNotAllowed:
        shard.headerBlock.add(":status", "405")
        shard.headerBlock.add("allow", "POST")
      case .unsupportedMediaType:
        shard.headerBlock.add(":status", "415")
      }
      submitHeadersOnly(stream)
    }
  }

  func refuse(_ stream: Stream, _ fault: MessageDeframer.Fault) {
    switch fault {
    case .tooLarge(let bytes):
      let limit = server.configuration.maxRequestMessageBytes
      refuse(stream, .resourceExhausted, "the request has \(bytes) bytes; \(limit) are allowed")
    case .extraMessage:
      refuse(stream, .internalError, "a unary call has one request message; there are more")
    case .malformedFlag:
      refuse(stream, .internalError, "the message's compression flag is neither 0 nor 1")
    }
  }

  /// grpc/grpc doc/compression.md: UNIMPLEMENTED with what we do accept; a flag without an encoding is a broken client.
  func refuseCompression(_ stream: Stream) {
    if stream.pointee.head.hasForeignEncoding {
      sendStatus(.unimplemented, "compressed requests are not read", acceptedEncodings: true, on: stream)
    } else {
      refuse(stream, .internalError, "a message is marked as compressed, but there is no grpc-encoding")
    }
  }
}
