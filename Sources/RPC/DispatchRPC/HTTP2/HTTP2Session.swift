import CNGHTTP2
import Glibc

/// Owns an `nghttp2_session`, its pointers and options. Nothing else owns an nghttp2 object. Not thread-safe: confined
/// to its connection's event loop.
struct HTTP2Session: ~Copyable {
  /// CONTINUATION frames after one HEADERS; 16 KiB of headers need one (CVE-2024-28182).
  private static let continuationLimit = 8
  /// Entries in one SETTINGS frame.
  private static let settingsLimit = 32
  /// PING and SETTINGS acknowledgements waiting for the socket.
  private static let queuedAcknowledgementLimit = 1_000

  private let session: OpaquePointer
  let memory: UnsafeMutablePointer<SessionMemory>

  /// `callbacks` may be shared by all sessions of one kind.
  ///
  /// - Parameter checksFields: false if the callbacks check requests by `RequestFieldRules`.
  static func server(callbacks: OpaquePointer, checksFields: Bool) -> HTTP2Session {
    HTTP2Session(callbacks: callbacks, checksFields: checksFields, makeSession: nghttp2_session_server_new3)
  }

  static func client(callbacks: OpaquePointer) -> HTTP2Session {
    HTTP2Session(callbacks: callbacks, checksFields: true, makeSession: nghttp2_session_client_new3)
  }

  private init(
    callbacks: OpaquePointer,
    checksFields: Bool,
    makeSession: (
      UnsafeMutablePointer<OpaquePointer?>?, OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?,
      UnsafeMutablePointer<nghttp2_mem>?
    ) -> Int32
  ) {
    var option: OpaquePointer?
    var session: OpaquePointer?
    memory = .allocate(capacity: 1)
    memory.initialize(to: SessionMemory())
    var functions = SessionMemory.functions(of: memory)
    guard nghttp2_option_new(&option) == 0 else { fatalError("out of memory") }
    defer { nghttp2_option_del(option) }
    // We return the window ourselves, as bytes are taken.
    nghttp2_option_set_no_auto_window_update(option, 1)
    // 1.52 keeps closed streams for RFC 7540 priorities; eight times the memory.
    nghttp2_option_set_no_closed_streams(option, 1)
    nghttp2_option_set_max_settings(option, Self.settingsLimit)
    nghttp2_option_set_max_continuations(option, Self.continuationLimit)
    nghttp2_option_set_max_outbound_ack(option, Self.queuedAcknowledgementLimit)
    nghttp2_option_set_no_http_messaging(option, checksFields ? 0 : 1)
    // Our `AbuseMonitor` counts resets, and others with them.
    nghttp2_option_set_stream_reset_rate_limit(option, .max, .max)
    let result = makeSession(&session, callbacks, nil, option, &functions)
    guard result == 0, let session else { fatalError("out of memory") }
    self.session = session
  }

  deinit {
    nghttp2_session_del(session)
    memory.deallocate()
  }

  /// Sets the pointer that the callbacks receive. It must outlive every call that can run a callback.
  func setUserData(_ pointer: UnsafeMutableRawPointer) {
    nghttp2_session_set_user_data(session, pointer)
  }

  /// Gives the kernel the pages back that a session without streams and output has no use for: 8 KB. It gets them anew
  /// when it needs them.
  func giveIdleMemoryBack() {
    if !wantsWrite { memory.pointee.giveBack() }
  }

  // MARK: Bytes

  /// Runs the callbacks. Returns nghttp2's text for what broke the session, which lives as long as the program; `nil`:
  /// the session goes on.
  func receive(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let count = nghttp2_session_mem_recv(
      session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    guard count < 0, let text = nghttp2_strerror(Int32(count)) else { return nil }
    return UnsafeRawBufferPointer(start: text, count: strlen(text))
  }

  /// The next frame's bytes, valid until the next call; empty when there is nothing to send now, `nil` when broken.
  func nextOutput() -> UnsafeRawBufferPointer? {
    var data: UnsafePointer<UInt8>?
    let count = nghttp2_session_mem_send(session, &data)
    return count < 0 ? nil : UnsafeRawBufferPointer(start: data, count: count)
  }

  var wantsRead: Bool { nghttp2_session_want_read(session) != 0 }
  var wantsWrite: Bool { nghttp2_session_want_write(session) != 0 }
  /// Frames waiting, DATA aside.
  var queuedFrameCount: Int { nghttp2_session_get_outbound_queue_size(session) }

  // MARK: Connection

  func submitSettings(_ settings: [nghttp2_settings_entry], connectionWindowBytes: Int32) {
    nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
    nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, connectionWindowBytes)
  }

  func submitPing(_ payload: UInt64) {
    withUnsafeBytes(of: payload) {
      _ = nghttp2_submit_ping(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), $0.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// GOAWAY with the highest stream identifier: a warning that refuses nothing yet.
  func submitShutdownNotice() {
    nghttp2_submit_shutdown_notice(session)
  }

  /// GOAWAY with the last stream that was taken up: those above it were not processed.
  func submitGoaway(_ code: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer = UnsafeRawBufferPointer("")) {
    let last = nghttp2_session_get_last_proc_stream_id(session)
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, code.rawValue,
      debugData.baseAddress?.assumingMemoryBound(to: UInt8.self), debugData.count)
  }

  /// GOAWAY, and nothing is read or answered after it.
  func terminate(_ code: HTTP2ErrorCode) {
    nghttp2_session_terminate_session(session, code.rawValue)
  }

  /// The number of streams that the peer allows us to open.
  var remoteMaxConcurrentStreams: Int {
    Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  // MARK: Streams

  /// Our END_STREAM, or a reset, is with the socket.
  func hasSentEnd(ofStream id: Int32) -> Bool {
    nghttp2_session_get_stream_local_close(session, id) != 0
  }

  func userData(ofStream id: Int32) -> UnsafeMutableRawPointer? {
    nghttp2_session_get_stream_user_data(session, id)
  }

  func setUserData(_ pointer: UnsafeMutableRawPointer?, ofStream id: Int32) {
    nghttp2_session_set_stream_user_data(session, id, pointer)
  }

  /// Gives the window back for bytes that were taken.
  func consume(_ count: Int, ofStream id: Int32) {
    nghttp2_session_consume(session, id, count)
  }

  /// As `consume`, for the connection's window alone.
  func consumeConnection(_ count: Int) {
    nghttp2_session_consume_connection(session, count)
  }

  /// As `consume`, for the stream's window alone.
  func consumeStream(_ count: Int, ofStream id: Int32) {
    nghttp2_session_consume_stream(session, id, count)
  }

  /// There is something to read again for a body whose callback said DEFERRED.
  func resumeBody(ofStream id: Int32) {
    nghttp2_session_resume_data(session, id)
  }

  func submitReset(_ code: HTTP2ErrorCode, stream id: Int32) {
    nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, code.rawValue)
  }

  /// A response; without `body` its headers end the stream.
  func submitResponse(
    stream id: Int32, _ fields: UnsafePointer<nghttp2_nv>, _ count: Int, body: nghttp2_data_provider?
  ) {
    if var body {
      nghttp2_submit_response(session, id, fields, count, &body)
    } else {
      nghttp2_submit_response(session, id, fields, count, nil)
    }
  }

  func submitTrailer(stream id: Int32, _ fields: UnsafePointer<nghttp2_nv>, _ count: Int) {
    nghttp2_submit_trailer(session, id, fields, count)
  }

  /// The new stream's identifier; `nil` when no more can be opened.
  func submitRequest(
    _ fields: UnsafePointer<nghttp2_nv>, _ count: Int, body: nghttp2_data_provider, userData: UnsafeMutableRawPointer
  ) -> Int32? {
    var body = body
    let id = nghttp2_submit_request(session, nil, fields, count, &body, userData)
    return id > 0 ? id : nil
  }
}
