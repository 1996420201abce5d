// Frames of a request come in: what a server's connection does with them.

extension ServerConnection {
  /// A header block begins: of a new stream, of an open one's trailers, or of one that nghttp2 passes over.
  func headersBegun(_ id: Int32) {
    switch headerBlocks.begin(stream: id) {
    case .newStream:
      if life.isRefusing { record(.reset) }
      if fieldRules != nil { fieldRules = RequestFieldRules() }
    case .knownStream:
      if session.userData(ofStream: id) == nil { record(.invalidFrame) }
    case .skippedStream:
      terminate(.protocolError, "stream_below_another")
    }
  }

  /// Trailers' fields are counted and passed over: a request's mean nothing to us, but to decode them is work.
  func headerReceived(_ id: Int32, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if let stream = streams.opening, stream.pointee.id == id {
      fieldRules?.add(name, value)
      stream.pointee.head.add(name, value, limit: headerBlocks.limitBytes) { routes.find($0) }
    }
    switch headerBlocks.add(fieldOf: RequestHead.listBytes(ofField: name, value)) {
    case .accepted: break
    case .costs: record(.invalidFrame)
    case .isBomb: terminate(.enhanceYourCalm, "header_list_too_large")
    }
  }

  func headersReceived(_ stream: Stream) {
    streams.opened()
    stream.pointee.metadataBytes = stream.pointee.head.metadata.byteCount
    metadataBytesChanged(by: stream.pointee.metadataBytes)
    let refusal = fieldRules?.isMalformed == true ? .http(.badRequest) : stream.pointee.head.refusal()
    if refusal?.isOfCall ?? true { observeBegin(stream) }
    if let refusal {
      refuse(stream, refusal)
    } else if stream.pointee.head.timeout == 0 {
      refuse(stream, .deadlineExceeded, "the deadline passed before the call arrived")
    } else if buffered.metadata > server.configuration.maxBufferedMetadataBytesPerConnection {
      refuse(stream, .resourceExhausted, "the connection's unfinished requests have too much metadata")
    } else {
      setDeadline(stream)
      if let route = stream.pointee.head.route, server.routes[route].handler.takesStream {
        becomeReadyForMessages(stream, server.routes[route])
      }
    }
  }

  func dataReceived(_ stream: Stream, _ bytes: UnsafeRawBufferPointer) {
    stream.pointee.observed.received(bytes.count)
    if let streaming = stream.pointee.streaming, stream.pointee.phase != .answered {
      streamDataReceived(stream, streaming, bytes)
      return
    }
    session.consume(bytes.count, ofStream: stream.pointee.id)
    guard stream.pointee.phase == .receiving else { return }
    let before = stream.pointee.request.message.count
    do throws(MessageDeframer.Fault) {
      try stream.pointee.request.append(bytes, limit: server.configuration.maxRequestMessageBytes)
    } catch {
      refuse(stream, error)
      return
    }
    requestBytesChanged(by: stream.pointee.request.message.count - before)
    if holdsTooManyRequests {
      refuse(stream, .resourceExhausted, "the connection has too many unfinished requests")
    }
  }

  /// The client's side of the stream is complete.
  func requestEnded(_ stream: Stream) {
    stream.pointee.isRemoteDone = true
    if let streaming = stream.pointee.streaming {
      streaming.clientEnded()
      ready.add(stream)
    }
    guard stream.pointee.phase == .receiving else { return }
    switch stream.pointee.request.completeness {
    case .missing:
      refuse(stream, .internalError, "a unary call has one request message; there is none")
    case .truncated:
      refuse(stream, .internalError, "the request message ends early")
    case .complete where stream.pointee.request.isCompressed && stream.pointee.head.encoding == .identity:
      // A broken client (grpc/grpc doc/compression.md).
      refuse(stream, .internalError, "a message is marked as compressed, but there is no grpc-encoding")
    case .complete:
      stream.pointee.observed.receivedMessage()
      becomeReady(stream)
    }
  }

  /// The client reset a stream, `nil` if it had ended. One that was refused at once cost us as much as any other; only
  /// NO_ERROR is good manners after our answer (RFC 9113 §8.1), all of which the client may have seen.
  func resetReceived(_ stream: Stream?, code: UInt32) {
    stream?.pointee.isRemoteReset = true
    let isAnswered = stream.map { session.hasSentEnd(ofStream: $0.pointee.id) } ?? true
    if code != HTTP2ErrorCode.noError.rawValue || !isAnswered { record(.reset) }
  }

  func streamClosed(_ stream: Stream, code: UInt32) {
    let isOurReset = code != HTTP2ErrorCode.noError.rawValue && !stream.pointee.isRemoteReset
    if isOurReset && !stream.pointee.isLocalDone { record(.reset) }
    close(stream, .reset)
  }
}
