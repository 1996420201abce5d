/// Receives what becomes of one event loop's calls, on that event loop. It runs for each call: it must take
/// nanoseconds.
///
/// A stream that is no gRPC call (another content type) or that was refused for lack of room (REFUSED_STREAM) is no
/// call here.
public protocol RPCServerObserver: AnyObject {
  /// A call's headers are complete.
  ///
  /// - Parameter method: its place in the router; `nil`: the server does not serve it.
  func callBegan(_ method: Int?)
  /// A call's status is on its way, or its stream is gone. Once for each call that began.
  func callEnded(_ call: RPCEndedCall)
}

/// One call, as gRPC's proposal A66 measures it.
public struct RPCEndedCall: Hashable, Sendable {
  /// See `RPCServerObserver.callBegan`.
  public var method: Int?
  /// CANCELLED if the stream went before there was a status.
  public var code: RPCCode
  /// From the headers.
  public var nanoseconds: Int64
  /// The size of all answers that were handed over: as compressed, without prefixes and frames.
  public var sentBytes: Int
  /// The size of all requests that were received, counted in the same way.
  public var receivedBytes: Int

  /// For a server of another protocol, whose calls are measured in the same way.
  package init(method: Int?, code: RPCCode, nanoseconds: Int64, sentBytes: Int, receivedBytes: Int) {
    (self.method, self.code, self.nanoseconds) = (method, code, nanoseconds)
    (self.sentBytes, self.receivedBytes) = (sentBytes, receivedBytes)
  }
}

/// The measurements of a stream while it is open.
struct ObservedCall {
  /// `nil`: it is no call, or has ended.
  private var began: MonotonicTime?
  private var sentBytes = 0
  /// With the prefixes of messages.
  private var receivedBytes = 0
  private var receivedMessages = 0

  var isOpen: Bool { began != nil }

  mutating func begin(at now: MonotonicTime) { began = now }
  mutating func received(_ count: Int) { receivedBytes += count }
  mutating func receivedMessage() { receivedMessages += 1 }
  mutating func sent(_ count: Int) { sentBytes += count }

  /// `nil`: there is nothing to report.
  mutating func end(_ code: RPCCode, of method: Int?, at now: MonotonicTime) -> RPCEndedCall? {
    guard let began else { return nil }
    self.began = nil
    return RPCEndedCall(
      method: method, code: code, nanoseconds: (now - began).wholeNanoseconds, sentBytes: sentBytes,
      receivedBytes: max(0, receivedBytes - MessageDeframer.prefixBytes * receivedMessages))
  }
}

extension ServerConnection {
  func observeBegin(_ stream: Stream) {
    guard let observer = server.observer else { return }
    stream.pointee.observed.begin(at: loop.now)
    observer.callBegan(stream.pointee.head.route)
  }

  /// The present time, because most calls begin and end in one round.
  func observeEnd(_ stream: Stream, _ code: RPCCode) {
    guard stream.pointee.observed.isOpen, let observer = server.observer,
      let call = stream.pointee.observed.end(code, of: stream.pointee.head.route, at: .now())
    else { return }
    observer.callEnded(call)
  }
}
