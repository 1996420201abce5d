// The messages that a stream has sent, kept to be sent again for as long as it may be retried. Pure.

internal import DispatchRPC

struct StreamBuffer {
  struct Message {
    let bytes: [UInt8]
    let isCompressed: Bool
  }

  private(set) var messages: [Message] = []
  /// As a stream counts what waits on it.
  private(set) var heldBytes = 0
  private(set) var isFinished = false
  /// Messages asked for.
  private(set) var demand = 0

  mutating func append(_ message: Message) {
    messages.append(message)
    heldBytes += RPCClientStream.cost(of: message.bytes)
  }

  mutating func finish() {
    isFinished = true
  }

  mutating func request(_ count: Int) {
    let (sum, overflow) = demand.addingReportingOverflow(count)
    demand = overflow ? .max : sum
  }

  /// It will not be sent again.
  mutating func drop() {
    messages = []
    heldBytes = 0
  }
}
