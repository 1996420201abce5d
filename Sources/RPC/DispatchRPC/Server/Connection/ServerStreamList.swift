// The streams of one connection, in lists that run through the streams themselves. Each stream is in each list at most
// once.

import CNGHTTP2

/// The streams that nghttp2 knows, from their first header to their last byte.
struct ServerStreamList {
  typealias Stream = UnsafeMutablePointer<ServerStream>

  private(set) var first: Stream?
  private(set) var count = 0
  /// The one whose headers are coming in; the blocks of two streams never mix (RFC 9113 §4.3).
  private(set) var opening: Stream?

  var isEmpty: Bool { first == nil }

  /// Its headers begin.
  @inline(__always)
  mutating func add(_ stream: Stream) {
    count += 1
    stream.pointee.next = first
    first?.pointee.previous = stream
    first = stream
    opening = stream
  }

  /// Its headers are complete.
  @inline(__always)
  mutating func opened() {
    opening = nil
  }

  @inline(__always)
  mutating func remove(_ stream: Stream) {
    count -= 1
    if let previous = stream.pointee.previous {
      previous.pointee.next = stream.pointee.next
    } else {
      first = stream.pointee.next
    }
    stream.pointee.next?.pointee.previous = stream.pointee.previous
    stream.pointee.next = nil
    stream.pointee.previous = nil
    if opening == stream { opening = nil }
  }
}

/// The streams that wait for the end of the read, in the order in which they became ready.
struct ReadyStreams {
  typealias Stream = UnsafeMutablePointer<ServerStream>

  private var first: Stream?
  private var last: Stream?

  var isEmpty: Bool { first == nil }

  func contains(_ stream: Stream) -> Bool {
    stream.pointee.nextReady != nil || last == stream
  }

  /// Nothing happens if it waits already.
  @inline(__always)
  mutating func add(_ stream: Stream) {
    guard !contains(stream) else { return }
    if let last { last.pointee.nextReady = stream } else { first = stream }
    last = stream
  }

  @inline(__always)
  mutating func removeFirst() -> Stream? {
    guard let stream = first else { return nil }
    first = stream.pointee.nextReady
    if first == nil { last = nil }
    stream.pointee.nextReady = nil
    return stream
  }
}
