// Requests that no handler sees, and the server's answers to them.

extension ServerConnection {
  func refuseForOverload(_ stream: Stream) {
    observeEnd(stream, server.configuration.overloadError.code)
    enterAnswered(stream)
    stream.pointee.isLocalDone = true
    server.overloadAnswer.withFields { session.submitResponse(stream: stream.pointee.id, $0, $1, body: nil) }
  }

  func refuse(_ stream: Stream, _ code: RPCCode, _ message: String) {
    sendStatus(code, message, on: stream)
  }

  func refuse(_ stream: Stream, _ refusal: RequestHead.Refusal) {
    switch refusal {
    case .status(let code, let message):
      refuse(stream, code, message.rawValue)
    case .unknownEncoding:
      refuse(stream, .unimplemented, "messages are read as they are or in gzip, not in that grpc-encoding")
    case .http(let refusal):
      buffers.headerBlock.removeAll()
      switch refusal {
      case .badRequest:
        record(.invalidFrame)
        buffers.headerBlock.add(":status", "400")
      case .methodNotAllowed:
        buffers.headerBlock.add(":status", "405")
        buffers.headerBlock.add("allow", "POST")
      case .unsupportedMediaType:
        buffers.headerBlock.add(":status", "415")
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

  func refuse(_ stream: Stream, _ fault: Gzip.Fault) {
    switch fault {
    case .tooLarge:
      let limit = server.configuration.maxRequestMessageBytes
      refuse(stream, .resourceExhausted, "the request has more than the \(limit) bytes that are allowed")
    case .malformed:
      refuse(stream, .internalError, "the request is not in gzip, as it claims")
    }
  }
}
