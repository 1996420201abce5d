// Output that the socket has not taken yet.

struct BlockedOutput {
  private var bytes: [UInt8] = []
  private var offset = 0
  /// Since when the socket takes nothing; `nil` when nothing waits for it.
  private(set) var since: MonotonicTime?

  init() {}

  init(_ bytes: UnsafeRawBufferPointer, at now: MonotonicTime) {
    self.bytes = Array(bytes)
    since = now
  }

  var isEmpty: Bool { bytes.isEmpty }

  /// As it counts until all of it is taken.
  var count: Int { bytes.count }

  func withRest<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
  }

  /// The socket has taken some. True when that was the rest.
  mutating func sent(_ count: Int, at now: MonotonicTime) -> Bool {
    offset += count
    since = now
    return offset == bytes.count
  }
}
