import CNGHTTP2

/// nghttp2's callbacks on the server: C functions that find the connection and the stream and pass the event on.
enum ServerCallbacks {
  /// Shared by all sessions; made once and never freed. Immutable after that, hence safe.
  nonisolated(unsafe) static let table: OpaquePointer = makeTable()

  /// Reads a response for DATA frames; the source is the stream. nghttp2 drops it when the stream closes.
  static let readResponse: nghttp2_data_source_read_callback = { _, _, buffer, capacity, flags, source, userData in
    let stream = source!.pointee.ptr.assumingMemoryBound(to: ServerStream.self)
    return withConnection(userData) { connection in
      let (count, isLast) = connection.readResponse(stream, to: buffer!, capacity: capacity)
      if isLast {
        // The trailers end the stream, not this frame.
        flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
      }
      return count
    }
  }

  /// As above, for a response of several messages.
  static let readMessages: nghttp2_data_source_read_callback = { _, _, buffer, capacity, flags, source, userData in
    let stream = source!.pointee.ptr.assumingMemoryBound(to: ServerStream.self)
    return withConnection(userData) { connection in
      switch connection.readMessages(stream, to: buffer!, capacity: capacity) {
      case .bytes(let count):
        return count
      case .deferred:
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
      case .last(let count, _):
        flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
        return count
      }
    }
  }

  /// A frame's header is here.
  private static let onBeginFrame: nghttp2_on_begin_frame_callback = { _, header, userData in
    if header!.pointee.type == NGHTTP2_HEADERS.rawValue {
      withConnection(userData) { $0.headersBegun(header!.pointee.stream_id) }
    }
    return 0
  }

  /// A frame is complete.
  private static let onFrame: nghttp2_on_frame_recv_callback = { _, frame, userData in
    withConnection(userData) { received(frame!, on: $0) }
    return 0
  }

  private static let onInvalidFrame: nghttp2_on_invalid_frame_recv_callback = { _, _, _, userData in
    withConnection(userData) { $0.record(.invalidFrame) }
    return 0
  }

  private static let onBeginHeaders: nghttp2_on_begin_headers_callback = { _, frame, userData in
    if frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
      withConnection(userData) { $0.streamOpened(frame!.pointee.hd.stream_id) }
    }
    return 0
  }

  private static let onHeader: nghttp2_on_header_callback = {
    _, frame, name, nameCount, value, valueCount, _, userData in
    withConnection(userData) { connection in
      connection.headerReceived(
        frame!.pointee.hd.stream_id, UnsafeRawBufferPointer(start: name, count: nameCount),
        UnsafeRawBufferPointer(start: value, count: valueCount))
    }
    return 0
  }

  private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, id, data, count, userData in
    withConnection(userData) { connection in
      guard let stream = stream(id, of: connection) else { return }
      connection.dataReceived(stream, UnsafeRawBufferPointer(start: data, count: count))
    }
    return 0
  }

  private static let onFrameSent: nghttp2_on_frame_send_callback = { _, frame, userData in
    let header = frame!.pointee.hd
    withConnection(userData) { connection in
      connection.conduct.sent(HTTP2FrameType(rawValue: header.type), length: header.length)
      if header.type == NGHTTP2_GOAWAY.rawValue && frame!.pointee.goaway.error_code != 0 { connection.lastWordSent() }
      guard header.type == NGHTTP2_HEADERS.rawValue, endsStream(header) else { return }
      if let stream = stream(header.stream_id, of: connection) { connection.responseSent(stream) }
    }
    return 0
  }

  private static let onFrameNotSent: nghttp2_on_frame_not_send_callback = { _, frame, _, userData in
    let header = frame!.pointee.hd
    guard header.type == NGHTTP2_HEADERS.rawValue else { return 0 }
    withConnection(userData) { connection in
      if let stream = stream(header.stream_id, of: connection) { connection.responseNotSent(stream) }
    }
    return 0
  }

  private static let onStreamClose: nghttp2_on_stream_close_callback = { _, id, code, userData in
    withConnection(userData) { connection in
      if let stream = stream(id, of: connection) { connection.streamClosed(stream, code: code) }
    }
    return 0
  }

  private static func received(_ frame: UnsafePointer<nghttp2_frame>, on connection: ServerConnection) {
    let header = frame.pointee.hd
    switch nghttp2_frame_type(UInt32(header.type)) {
    case NGHTTP2_HEADERS:
      guard let stream = stream(header.stream_id, of: connection) else { break }
      if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST { connection.headersReceived(stream) }
      if endsStream(header) { connection.requestEnded(stream) }
    case NGHTTP2_DATA:
      // Empty but for padding; without, it is counted already.
      let isPadding = header.length > 0 && header.length == frame.pointee.data.padlen
      if isPadding && !endsStream(header) { connection.record(.emptyData) }
      if endsStream(header), let stream = stream(header.stream_id, of: connection) { connection.requestEnded(stream) }
    case NGHTTP2_RST_STREAM:
      connection.resetReceived(stream(header.stream_id, of: connection), code: frame.pointee.rst_stream.error_code)
    case NGHTTP2_SETTINGS:
      connection.settingsReceived()
    case NGHTTP2_PING where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
      connection.pingAcknowledged(withUnsafeBytes(of: frame.pointee.ping.opaque_data) { $0.load(as: UInt64.self) })
    default:
      break
    }
  }

  private static func endsStream(_ header: nghttp2_frame_hd) -> Bool {
    header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
  }

  /// The connection outlives its session, which is what calls us: so without counting references.
  @inline(__always)
  private static func withConnection<Result>(
    _ userData: UnsafeMutableRawPointer?, _ body: (ServerConnection) -> Result
  ) -> Result {
    Unmanaged<ServerConnection>.fromOpaque(userData!)._withUnsafeGuaranteedRef(body)
  }

  /// `nil` for a stream that nghttp2 already closed.
  @inline(__always)
  private static func stream(_ id: Int32, of connection: ServerConnection) -> ServerConnection.Stream? {
    connection.session.userData(ofStream: id)?.assumingMemoryBound(to: ServerStream.self)
  }

  private static func makeTable() -> OpaquePointer {
    var table: OpaquePointer?
    guard nghttp2_session_callbacks_new(&table) == 0, let table else { fatalError("out of memory") }
    nghttp2_session_callbacks_set_on_begin_frame_callback(table, onBeginFrame)
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, onFrame)
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(table, onInvalidFrame)
    nghttp2_session_callbacks_set_on_begin_headers_callback(table, onBeginHeaders)
    nghttp2_session_callbacks_set_on_header_callback(table, onHeader)
    // A value that HTTP/2 does not allow, such as one with a space at its end: metadata must not be taken for absent.
    nghttp2_session_callbacks_set_on_invalid_header_callback(table, onHeader)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, onData)
    nghttp2_session_callbacks_set_on_frame_send_callback(table, onFrameSent)
    nghttp2_session_callbacks_set_on_frame_not_send_callback(table, onFrameNotSent)
    nghttp2_session_callbacks_set_on_stream_close_callback(table, onStreamClose)
    return table
  }
}
