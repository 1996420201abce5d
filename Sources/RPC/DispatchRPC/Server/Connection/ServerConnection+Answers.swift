// Answers on their way into nghttp2: head, body, trailers.

import CNGHTTP2

extension ServerConnection {
  /// The answer to a running call.
  func send(_ answer: RPCServerAnswer, on stream: Stream) {
    conduct.callAnswered()
    switch answer {
    case .message(let message, let initial, let trailing):
      guard message.count <= server.configuration.maxResponseMessageBytes else {
        sendStatus(.resourceExhausted, "the answer has \(message.count) bytes, more than allowed", on: stream)
        return
      }
      // Room at dispatch is not room now: all that ran at once may be answered at once.
      guard hasRoomForAnswers else {
        sendStatus(.resourceExhausted, "the client has too many answers to read first", on: stream)
        return
      }
      enterAnswered(stream)
      stream.pointee.response = OutgoingMessage(message)
      stream.pointee.trailingMetadata = trailing
      responseBytesChanged(by: message.count)
      stream.pointee.observed.sent(message.count)
      submitHead(of: stream, initial, body: ServerCallbacks.readResponse)
    case .error(let error):
      let code = error.code == .ok ? .unknown : error.code
      sendStatus(code, error.message, metadata: error.metadata, on: stream)
    }
  }

  func enterAnswered(_ stream: Stream) {
    stream.pointee.call = nil
    dropRequest(stream)
    stream.pointee.streaming?.discardUnread()
    stream.pointee.enter(.answered, at: loop.now)
    scheduleWrite()
  }

  func submitHead(of stream: Stream, _ initial: Metadata, body read: @escaping nghttp2_data_source_read_callback) {
    let body = nghttp2_data_provider(
      source: nghttp2_data_source(ptr: UnsafeMutableRawPointer(stream)), read_callback: read)
    let namesEncodings = stream.pointee.head.namesEncodings
    if initial.isEmpty {
      session.submitResponse(
        stream: stream.pointee.id, ResponseFields.head, ResponseFields.headCount(namingEncodings: namesEncodings),
        body: body)
      return
    }
    buffers.headerBlock.removeAll()
    ResponseFields.addHead(to: &buffers.headerBlock, namingEncodings: namesEncodings)
    buffers.headerBlock.add(initial, listLimitBytes: ResponseFields.listLimitBytes)
    buffers.headerBlock.withFields { session.submitResponse(stream: stream.pointee.id, $0, $1, body: body) }
  }

  /// From nghttp2, when it has room for DATA. The number of bytes, and whether they were the last.
  func readResponse(
    _ stream: Stream, to buffer: UnsafeMutablePointer<UInt8>, capacity: Int
  ) -> (count: Int, isLast: Bool) {
    let count = stream.pointee.response.write(to: buffer, capacity: capacity)
    guard stream.pointee.response.remainingBytes == 0 else {
      punish(conduct.windowCutsData(to: capacity, at: loop.now))
      return (count, false)
    }
    submitTrailers(of: stream, stream.pointee.trailingMetadata)
    return (count, true)
  }

  /// The end of a success. Within nghttp2's callback for DATA, so that the trailers come after it.
  func submitTrailers(of stream: Stream, _ metadata: Metadata) {
    observeEnd(stream, .ok)
    stream.pointee.isLocalDone = true
    if metadata.isEmpty {
      session.submitTrailer(stream: stream.pointee.id, ResponseFields.okTrailer, 1)
    } else {
      buffers.headerBlock.removeAll()
      buffers.headerBlock.add("grpc-status", "0")
      buffers.headerBlock.add(metadata, listLimitBytes: ResponseFields.listLimitBytes)
      buffers.headerBlock.withFields { session.submitTrailer(stream: stream.pointee.id, $0, $1) }
    }
  }

  /// As above, the end of a failure.
  func submitTrailers(of stream: Stream, _ error: RPCError) {
    let code = error.code == .ok ? .unknown : error.code
    observeEnd(stream, code)
    stream.pointee.isLocalDone = true
    buffers.headerBlock.removeAll()
    addStatus(code, error.message)
    buffers.headerBlock.add(error.metadata, listLimitBytes: ResponseFields.listLimitBytes)
    buffers.headerBlock.withFields { session.submitTrailer(stream: stream.pointee.id, $0, $1) }
  }

  private func addStatus(_ code: RPCCode, _ message: String) {
    buffers.headerBlock.add("grpc-status", String(code.rawValue))
    if !message.isEmpty {
      buffers.headerBlock.add("grpc-message") { PercentEncoding.encode(message, into: &$0) }
    }
  }

  /// A response of trailers only.
  func sendStatus(
    _ code: RPCCode, _ message: String, metadata: Metadata = Metadata(), on stream: Stream
  ) {
    observeEnd(stream, code)
    buffers.headerBlock.removeAll()
    ResponseFields.addHead(to: &buffers.headerBlock, namingEncodings: stream.pointee.head.namesEncodings)
    addStatus(code, message)
    buffers.headerBlock.add(metadata, listLimitBytes: ResponseFields.listLimitBytes)
    submitHeadersOnly(stream)
  }

  /// Ends the stream with what the header block holds.
  func submitHeadersOnly(_ stream: Stream) {
    enterAnswered(stream)
    stream.pointee.isLocalDone = true
    buffers.headerBlock.withFields { session.submitResponse(stream: stream.pointee.id, $0, $1, body: nil) }
  }

  /// The whole response has left. The rest of the client's request is no longer wanted (RFC 9113 §8.1); nghttp2 would
  /// drop the response if the stream were reset any sooner.
  func responseSent(_ stream: Stream) {
    if !stream.pointee.isRemoteDone { session.submitReset(.noError, stream: stream.pointee.id) }
  }

  /// nghttp2 gave up on a header block of the response, so the client would wait in vain.
  func responseNotSent(_ stream: Stream) {
    stream.pointee.isLocalDone = true
    session.submitReset(.internalError, stream: stream.pointee.id)
  }
}

/// The header fields that nearly every response has, laid out once for the whole program.
enum ResponseFields {
  /// The limit of one header block that we send, counted as in RFC 9113 §6.5.2. Common clients take this much (gRPC's C
  /// core: 8 KiB for sure, more by chance), and nghttp2 sends no block above 64 KiB at all.
  static let listLimitBytes = 8 << 10

  // Unsafe only in name: written once before the first read, and never freed.
  nonisolated(unsafe) static let head = allocate([
    nghttp2_nv(static: ":status", "200"), nghttp2_nv(static: "content-type", "application/grpc"),
    nghttp2_nv(static: "grpc-accept-encoding", MessageEncoding.accepted),
  ])

  /// The encodings that we read, for the clients that name theirs.
  static func headCount(namingEncodings: Bool) -> Int { namingEncodings ? 3 : 2 }

  /// The one trailer of a success.
  nonisolated(unsafe) static let okTrailer = allocate([nghttp2_nv(static: "grpc-status", "0")])

  static func addHead(to block: inout HeaderBlock, namingEncodings: Bool) {
    block.add(":status", "200")
    block.add("content-type", "application/grpc")
    if namingEncodings { block.add("grpc-accept-encoding", MessageEncoding.accepted) }
  }

  private static func allocate(_ fields: [nghttp2_nv]) -> UnsafePointer<nghttp2_nv> {
    let pointer = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: fields.count)
    pointer.initialize(from: fields, count: fields.count)
    return UnsafePointer(pointer)
  }
}
