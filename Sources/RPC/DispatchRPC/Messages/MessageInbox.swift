/// The messages of a stream on their way in. Takes apart the bytes of a stream's DATA, only as many as the requested
/// messages need. The peer gets the window back for these bytes and no others, so an inbox holds one message and one
/// window at most, however slow its reader is. Pure.
struct MessageInbox {
  private var deframer = MessageDeframer()
  /// Bytes that came and were not requested, from `unreadOffset`.
  private var unread: [UInt8] = []
  private var unreadOffset = 0
  /// Messages requested and not handed over; `.max` for all that may come.
  private var demand = 0
  /// Bytes taken, for which the window was not given back yet.
  private var taken = 0
  private var isEnded = false
  private var endIsTold = false

  /// The bytes of a message being received, and those that wait.
  var heldBytes: Int { deframer.message.count + unread.count - unreadOffset }

  mutating func request(_ count: Int) {
    precondition(count > 0, "a request is for one message at least")
    let (sum, overflow) = demand.addingReportingOverflow(count)
    demand = overflow ? .max : sum
  }

  /// - Parameter limit: the size limit of one message.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, limit: Int) throws(MessageDeframer.Fault) {
    var count = 0
    if unread.isEmpty && takesBytes {
      count = try deframer.take(bytes, limit: limit)
      taken += count
    }
    guard count < bytes.count else { return }
    dropRead()
    unread.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[count...]))
  }

  /// The peer sends no more.
  mutating func end() {
    isEnded = true
  }

  /// Returns the bytes taken since the last call: their window is to be given back.
  mutating func collectTaken() -> Int {
    defer { taken = 0 }
    return taken
  }

  enum Next: Equatable {
    /// `takeMessage()` has it.
    case message
    /// Nothing will follow; returned once.
    case end
    /// The peer ended in the middle of a message.
    case truncated
    /// There is none until more is requested, or comes.
    case nothing
  }

  mutating func next(limit: Int) throws(MessageDeframer.Fault) -> Next {
    try takeUnread(limit: limit)
    switch deframer.completeness {
    case .complete:
      return .message
    case .missing where isEnded && unread.isEmpty && !endIsTold:
      endIsTold = true
      return .end
    case .truncated where isEnded && unread.isEmpty:
      return .truncated
    case .missing, .truncated:
      return .nothing
    }
  }

  /// Takes the message that `next` has reported. `reuse` gives its storage back.
  mutating func takeMessage() -> MessageDeframer {
    precondition(demand > 0 && deframer.completeness == .complete, "a message is taken when there is one")
    if demand < .max { demand -= 1 }
    var message = MessageDeframer()
    swap(&message, &deframer)
    return message
  }

  /// Keeps the storage of a message that was handled.
  mutating func reuse(_ message: consuming MessageDeframer) {
    guard deframer.completeness == .missing else { return }
    message.reset()
    deframer = message
  }

  /// No more is read: drops all that it holds, which counts as taken.
  mutating func discard() {
    taken += unread.count - unreadOffset
    unread = []
    unreadOffset = 0
    deframer = MessageDeframer()
    endIsTold = true
  }

  private var takesBytes: Bool { demand > 0 && deframer.completeness != .complete }

  private mutating func takeUnread(limit: Int) throws(MessageDeframer.Fault) {
    guard !unread.isEmpty, takesBytes else { return }
    let (waiting, offset) = (unread, unreadOffset)
    let count = try waiting.withUnsafeBytes { bytes in
      Result { () throws(MessageDeframer.Fault) in
        try deframer.take(UnsafeRawBufferPointer(rebasing: bytes[offset...]), limit: limit)
      }
    }.get()
    taken += count
    unreadOffset += count
    if unreadOffset == unread.count {
      unread = []
      unreadOffset = 0
    }
  }

  /// Moves what waits to the front once that is the smaller part, so that each byte is moved once on average.
  private mutating func dropRead() {
    guard unreadOffset > unread.count / 2 else { return }
    unread.removeFirst(unreadOffset)
    unreadOffset = 0
  }
}
