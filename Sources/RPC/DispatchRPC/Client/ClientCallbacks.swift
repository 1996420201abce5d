import CNGHTTP2

/// nghttp2's callbacks on the client: C functions that find the connection and the stream and pass the event on.
enum ClientCallbacks {
  /// Shared by all sessions; made once and never freed. Immutable after that, hence safe.
  nonisolated(unsafe) static let table: OpaquePointer = makeTable()

  /// Reads a request for DATA frames; the source is the stream, whose last frame ends our side.
  static let readRequest: nghttp2_data_source_read_callback = { _, _, buffer, capacity, flags, source, _ in
    let stream = Unmanaged<ClientStream>.fromOpaque(source!.pointee.ptr).takeUnretainedValue()
    let count = stream.request.write(to: buffer!, capacity: capacity)
    if stream.request.remainingBytes == 0 { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
  }

  /// As above, for a request of several messages.
  static let readMessages: nghttp2_data_source_read_callback = { _, _, buffer, capacity, flags, source, _ in
    let stream = Unmanaged<ClientStream>.fromOpaque(source!.pointee.ptr).takeUnretainedValue()
    guard let streaming = stream.streaming else { preconditionFailure("a stream's body is a stream's") }
    switch streaming.write(to: buffer!, capacity: capacity) {
    case .bytes(let count):
      return count
    case .deferred:
      return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    case .last(let count):
      flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
      return count
    }
  }

  private static let onFrame: nghttp2_on_frame_recv_callback = { _, frame, userData in
    let connection = connection(userData)
    let header = frame!.pointee.hd
    switch nghttp2_frame_type(UInt32(header.type)) {
    case NGHTTP2_HEADERS:
      guard let stream = stream(header.stream_id, of: connection) else { break }
      connection.headReceived(stream, id: header.stream_id)
      if header.endsStream { connection.serverEnded(stream, id: header.stream_id) }
    case NGHTTP2_DATA where header.endsStream:
      stream(header.stream_id, of: connection).map { connection.serverEnded($0, id: header.stream_id) }
    case NGHTTP2_SETTINGS:
      connection.settingsReceived()
    case NGHTTP2_GOAWAY:
      connection.goawayReceived(isForPings: isForPings(frame!.pointee.goaway))
    default:
      break
    }
    return 0
  }

  /// The server finds that we probe it too often (gRFC A8).
  private static func isForPings(_ goaway: nghttp2_goaway) -> Bool {
    guard goaway.error_code == HTTP2ErrorCode.enhanceYourCalm.rawValue else { return false }
    return UnsafeRawBufferPointer(start: goaway.opaque_data, count: goaway.opaque_data_len).equals("too_many_pings")
  }

  private static let onBeginHeaders: nghttp2_on_begin_headers_callback = { _, frame, userData in
    stream(frame!.pointee.hd.stream_id, of: connection(userData))?.head.blockBegins()
    return 0
  }

  private static let onHeader: nghttp2_on_header_callback = {
    _, frame, name, nameCount, value, valueCount, _, userData in
    let connection = connection(userData)
    stream(frame!.pointee.hd.stream_id, of: connection)?.head.add(
      UnsafeRawBufferPointer(start: name, count: nameCount), UnsafeRawBufferPointer(start: value, count: valueCount),
      limit: connection.maxHeaderListBytes)
    return 0
  }

  private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, id, data, count, userData in
    let connection = connection(userData)
    if let stream = stream(id, of: connection) {
      connection.dataReceived(stream, id: id, UnsafeRawBufferPointer(start: data, count: count))
    }
    return 0
  }

  private static let onFrameSent: nghttp2_on_frame_send_callback = { _, frame, userData in
    let header = frame!.pointee.hd
    if header.type == NGHTTP2_HEADERS.rawValue {
      stream(header.stream_id, of: connection(userData))?.isSent = true
    }
    return 0
  }

  /// nghttp2 then closes the stream. Unless the headers themselves caused the failure, the call may be tried elsewhere.
  private static let onFrameNotSent: nghttp2_on_frame_not_send_callback = { _, frame, code, userData in
    let header = frame!.pointee.hd
    guard header.type == NGHTTP2_HEADERS.rawValue, code == NGHTTP2_ERR_FRAME_SIZE_ERROR.rawValue else { return 0 }
    let connection = connection(userData)
    stream(header.stream_id, of: connection).map(connection.requestTooLarge)
    return 0
  }

  private static let onStreamClose: nghttp2_on_stream_close_callback = { _, id, code, userData in
    connection(userData).streamClosed(id, code: HTTP2ErrorCode(rawValue: code))
    return 0
  }

  /// The connection outlives its session, which is what calls us.
  @inline(__always)
  private static func connection(_ userData: UnsafeMutableRawPointer?) -> ClientConnection {
    Unmanaged<ClientConnection>.fromOpaque(userData!).takeUnretainedValue()
  }

  /// `nil` for a stream that nghttp2 already closed. The connection holds the others.
  @inline(__always)
  private static func stream(_ id: Int32, of connection: ClientConnection) -> ClientStream? {
    guard let pointer = connection.session.userData(ofStream: id) else { return nil }
    return Unmanaged<ClientStream>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func makeTable() -> OpaquePointer {
    var table: OpaquePointer?
    guard nghttp2_session_callbacks_new(&table) == 0, let table else { fatalError("out of memory") }
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, onFrame)
    nghttp2_session_callbacks_set_on_begin_headers_callback(table, onBeginHeaders)
    nghttp2_session_callbacks_set_on_header_callback(table, onHeader)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, onData)
    nghttp2_session_callbacks_set_on_frame_send_callback(table, onFrameSent)
    nghttp2_session_callbacks_set_on_frame_not_send_callback(table, onFrameNotSent)
    nghttp2_session_callbacks_set_on_stream_close_callback(table, onStreamClose)
    return table
  }
}

extension nghttp2_frame_hd {
  fileprivate var endsStream: Bool { flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 }
}
