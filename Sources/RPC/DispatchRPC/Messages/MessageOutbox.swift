import Synchronization

/// The messages of a stream on their way out: a queue that DATA frames are filled from. Confined to the event loop.
struct MessageOutbox {
  /// A message costs this besides its bytes, so that many empty ones are not free.
  private static let overheadBytes = 64

  private var queue: [OutgoingMessage] = []
  /// The one being written.
  private var first = 0
  /// As `cost` counts.
  private(set) var heldBytes = 0

  var isEmpty: Bool { first == queue.count }

  static func cost(of message: [UInt8]) -> Int { message.count + overheadBytes }
  static func cost(of message: OutgoingMessage) -> Int { message.messageBytes + overheadBytes }

  mutating func append(_ message: OutgoingMessage) {
    queue.append(message)
    heldBytes += Self.cost(of: message)
  }

  /// Fills a frame with as many messages as it holds.
  mutating func write(to buffer: UnsafeMutablePointer<UInt8>, capacity: Int) -> Int {
    var written = 0
    while written < capacity, !isEmpty {
      written += queue[first].write(to: buffer + written, capacity: capacity - written)
      if queue[first].remainingBytes == 0 { removeFirst() }
    }
    return written
  }

  /// All but the message that is half with the peer: without its end the peer could not tell it from a broken stream.
  mutating func dropUnbegun() {
    let kept = isEmpty || !queue[first].hasBegun ? first : first + 1
    for message in queue[kept...] { heldBytes -= Self.cost(of: message) }
    queue.removeSubrange(kept...)
  }

  private mutating func removeFirst() {
    heldBytes -= Self.cost(of: queue[first])
    queue[first] = OutgoingMessage()
    first += 1
    // Each message is moved once on average.
    guard first > queue.count / 2 else { return }
    queue.removeFirst(first)
    first = 0
  }
}

/// How much of a stream waits to be sent, known to its producers on all threads.
struct SendQuota: ~Copyable, Sendable {
  /// From here on producers are asked to wait. Some frames' worth: it keeps a socket busy, and 128 streams at 8 MiB.
  static let highWaterBytes = 64 << 10

  /// Producers that do not wait are stopped here; one message may go over it.
  private let limit: Int
  private let waiting = Atomic<Int>(0)

  init(limit: Int) {
    self.limit = limit
  }

  var isWritable: Bool { waiting.load(ordering: .relaxed) < Self.highWaterBytes }

  /// False, and nothing counted, when too much waits already.
  func reserve(_ count: Int) -> Bool {
    guard waiting.add(count, ordering: .relaxed).oldValue <= limit else {
      waiting.subtract(count, ordering: .relaxed)
      return false
    }
    return true
  }

  /// True when this makes `isWritable` true again.
  func release(_ count: Int) -> Bool {
    let (before, after) = waiting.subtract(count, ordering: .relaxed)
    return before >= Self.highWaterBytes && after < Self.highWaterBytes
  }
}
