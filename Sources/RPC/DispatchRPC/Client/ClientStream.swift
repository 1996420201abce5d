import CNGHTTP2

/// The closure that runs when a call with one request and one answer ends.
typealias CallCompletion = @Sendable (Result<RPCResponse, RPCError>, RPCMessageBytes) -> Void

/// Confined to the connection's event loop. nghttp2 carries a raw pointer to it; the connection holds it until nghttp2
/// is done.
final class ClientStream {
  var request = OutgoingMessage()
  var head = ResponseHead()
  var response = MessageDeframer()
  /// The messages, if there may be several each way.
  let streaming: RPCClientStream?
  /// Its HEADERS are with the socket or on their way: the server may have seen the call.
  var isSent = false
  /// END_STREAM came.
  var serverHasEnded = false
  let deadline: MonotonicTime?
  var timer: EventLoop.TimerHandle?
  private var completion: CallCompletion?
  /// The bytes that `response` counts for among the connection's unread bytes.
  private var countedBytes = 0
  /// The bytes of `response` as they came, once nothing more is received.
  private var receivedBytes = 0

  init(request: OutgoingMessage, deadline: MonotonicTime?, completion: @escaping CallCompletion) {
    self.request = request
    self.deadline = deadline
    self.completion = completion
    streaming = nil
  }

  init(_ streaming: RPCClientStream, deadline: MonotonicTime?) {
    self.streaming = streaming
    self.deadline = deadline
  }

  var unreadBytes: Int { streaming?.unreadBytes ?? countedBytes }

  func receive(_ bytes: UnsafeRawBufferPointer, limit: Int, _ unread: UnreadBudget) throws(MessageDeframer.Fault) {
    defer { count(response.message.count, unread) }
    try response.append(bytes, limit: limit)
  }

  /// Takes the response off the connection's unread bytes: its message goes to the caller, or is dropped. A second call
  /// changes nothing. A call with several messages counts its unread bytes itself, until they are read.
  func endsReceiving(_ unread: UnreadBudget) {
    receivedBytes += countedBytes
    count(0, unread)
  }

  private func count(_ bytes: Int, _ unread: UnreadBudget) {
    unread.change(by: bytes - countedBytes)
    countedBytes = bytes
  }

  var isComplete: Bool { completion == nil && streaming?.isRunning != true }

  /// The first result counts. The completion runs outside of nghttp2's callbacks.
  func complete(_ result: Result<RPCResponse, RPCError>, on loop: EventLoop) {
    guard let completion else { return }
    self.completion = nil
    let bytes = RPCMessageBytes(sent: isSent ? request.messageBytes : 0, received: receivedBytes)
    loop.execute { completion(result, bytes) }
  }

  /// Ends the call here; what was received and not read is dropped.
  func fail(_ error: RPCError, on loop: EventLoop) {
    let error = marked(error)
    streaming?.fail(error)
    response = MessageDeframer()
    complete(.failure(error), on: loop)
  }

  /// Returns the error with the call's progress as the response's head shows it.
  func marked(_ error: RPCError) -> RPCError {
    guard error.progress == .sent, head.hasBegunAnswer else { return error }
    var error = error
    error.progress = .answered
    return error
  }
}
