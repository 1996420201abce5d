import CNGHTTP2

/// One stream of a server connection: plain state behind a raw pointer that nghttp2 carries.
struct ServerStream {
  enum Phase: UInt8 {
    case receiving
    /// The request is whole, or a stream's headers are, and waits for the end of the read.
    case ready
    /// The handler has it.
    case running
    /// The call was answered, or its stream's end given; nghttp2 is sending.
    case answered
  }

  var id: Int32
  var phase = Phase.receiving
  /// When the phase began.
  var since: MonotonicTime
  /// nghttp2 closed it while it waited in the ready list, which frees it.
  var isClosed = false
  /// The client has sent all it will.
  var isRemoteDone = false
  /// The client has reset it, and that is counted.
  var isRemoteReset = false
  /// Our last frame is with nghttp2.
  var isLocalDone = false
  var head = RequestHead()
  /// The bytes of the metadata in `head`, as they count for the connection.
  var metadataBytes = 0
  var request = MessageDeframer()
  var response = OutgoingMessage()
  var trailingMetadata = Metadata()
  var deadline: MonotonicTime?
  var timer: EventLoop.TimerHandle?
  /// `nil` once it is answered.
  var call: RPCServerContext?
  /// The same, if it has several messages; to the stream's end.
  var streaming: RPCServerStream?
  var observed = ObservedCall()

  /// The connection's open streams.
  var previous: UnsafeMutablePointer<ServerStream>?
  var next: UnsafeMutablePointer<ServerStream>?
  /// The connection's ready list.
  var nextReady: UnsafeMutablePointer<ServerStream>?

  init(id: Int32, now: MonotonicTime) {
    self.id = id
    since = now
  }

  mutating func enter(_ phase: Phase, at now: MonotonicTime) {
    self.phase = phase
    since = now
  }

  /// Lets go of all it holds but the request's storage.
  mutating func clear() {
    // Moved, not copied: a storage that two hold is not used again.
    var request = MessageDeframer()
    swap(&request, &self.request)
    request.reset()
    self = ServerStream(id: 0, now: since)
    swap(&request, &self.request)
  }
}

/// The streams of one event loop, used again and again.
struct ServerStreamPool: ~Copyable {
  /// Beyond it streams go back to the allocator.
  private static let keptStreams = 1_024

  private var free: [UnsafeMutablePointer<ServerStream>] = []

  init() {}

  deinit {
    for stream in free { Self.destroy(stream) }
  }

  mutating func take(id: Int32, now: MonotonicTime) -> UnsafeMutablePointer<ServerStream> {
    if let stream = free.popLast() {
      stream.pointee.id = id
      stream.pointee.since = now
      return stream
    }
    let stream = UnsafeMutablePointer<ServerStream>.allocate(capacity: 1)
    stream.initialize(to: ServerStream(id: id, now: now))
    return stream
  }

  mutating func put(_ stream: UnsafeMutablePointer<ServerStream>) {
    guard free.count < Self.keptStreams else {
      Self.destroy(stream)
      return
    }
    stream.pointee.clear()
    free.append(stream)
  }

  private static func destroy(_ stream: UnsafeMutablePointer<ServerStream>) {
    stream.deinitialize(count: 1)
    stream.deallocate()
  }
}
