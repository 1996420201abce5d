// The pure parts of streams: messages in as they are asked for, messages out piece by piece, and the count of what
// waits.

import Testing

@testable import DispatchRPC

@Suite struct MessageInboxTests {
  @Test(arguments: 1...12)
  func takesNoMoreThanItWasAskedFor(_ pieceBytes: Int) throws {
    var inbox = MessageInbox()
    let bytes = (1...4).flatMap { (index: UInt8) -> [UInt8] in [0, 0, 0, 0, 2, index, index] }
    inbox.request(2)
    try inbox.receive(bytes, inPiecesOf: pieceBytes)
    var messages: [[UInt8]] = []
    while try inbox.next(limit: 100) == .message { messages.append(inbox.takeMessage().message) }
    #expect(messages == [[1, 1], [2, 2]])
    #expect(inbox.collectTaken() == 14)
    #expect(inbox.collectTaken() == 0)
    #expect(inbox.heldBytes == 14)
    inbox.request(.max)
    inbox.request(.max)
    while try inbox.next(limit: 100) == .message { messages.append(inbox.takeMessage().message) }
    #expect(messages.count == 4)
    #expect(inbox.collectTaken() == 14)
    #expect(inbox.heldBytes == 0)
  }

  @Test func tellsTheEndOnceEvenUnasked() throws {
    var inbox = MessageInbox()
    #expect(try inbox.next(limit: 100) == .nothing)
    inbox.end()
    #expect(try inbox.next(limit: 100) == .end)
    #expect(try inbox.next(limit: 100) == .nothing)
  }

  @Test func theEndComesAfterWhatWaits() throws {
    var inbox = MessageInbox()
    try inbox.receive([0, 0, 0, 0, 0], inPiecesOf: 5)
    inbox.end()
    #expect(try inbox.next(limit: 100) == .nothing)
    inbox.request(1)
    #expect(try inbox.next(limit: 100) == .message)
    inbox.reuse(inbox.takeMessage())
    #expect(try inbox.next(limit: 100) == .end)
  }

  @Test func tellsAMessageThatEndsEarly() throws {
    var inbox = MessageInbox()
    inbox.request(1)
    try inbox.receive([0, 0, 0, 0, 2, 9], inPiecesOf: 6)
    inbox.end()
    #expect(try inbox.next(limit: 100) == .truncated)
  }

  @Test func judgesMessagesWhenTheyAreAskedFor() throws {
    var inbox = MessageInbox()
    try inbox.receive([0, 0, 0, 0, 101], inPiecesOf: 5)
    #expect(try inbox.next(limit: 100) == .nothing)
    inbox.request(1)
    #expect(throws: MessageDeframer.Fault.tooLarge(101)) { try inbox.next(limit: 100) }
  }

  @Test func discardingCountsAsTaking() throws {
    var inbox = MessageInbox()
    inbox.request(1)
    try inbox.receive([0, 0, 0, 0, 1, 9] + [0, 0, 0, 0, 1, 9], inPiecesOf: 12)
    inbox.discard()
    #expect(inbox.collectTaken() == 12)
    #expect(inbox.heldBytes == 0)
    #expect(try inbox.next(limit: 100) == .nothing)
  }
}

@Suite struct MessageOutboxTests {
  private static let overhead = MessageOutbox.cost(of: [])

  @Test(arguments: [1, 4, 5, 7, 1_000])
  func fillsFramesWithWhatFits(_ capacity: Int) {
    var outbox = MessageOutbox()
    for index in 0..<50 as Range<UInt8> {
      outbox.append(OutgoingMessage([UInt8](repeating: index, count: Int(index % 4))))
    }
    var output: [UInt8] = []
    while !outbox.isEmpty { output += outbox.frame(capacity) }
    let framed = (0..<50).flatMap { (index: UInt8) -> [UInt8] in
      [0, 0, 0, 0, index % 4] + [UInt8](repeating: index, count: Int(index % 4))
    }
    #expect(output == framed)
    #expect(outbox.heldBytes == 0)
  }

  @Test func dropsAllButTheMessageThatHasBegun() {
    var outbox = MessageOutbox()
    for _ in 0..<3 { outbox.append(OutgoingMessage([1, 2, 3])) }
    _ = outbox.frame(6)
    outbox.dropUnbegun()
    #expect(outbox.heldBytes == 3 + Self.overhead)
    #expect(outbox.frame(100) == [2, 3])
    #expect(outbox.isEmpty)
    outbox.append(OutgoingMessage([1]))
    outbox.dropUnbegun()
    #expect(outbox.isEmpty && outbox.heldBytes == 0)
  }
}

@Suite struct SendQuotaTests {
  @Test func oneMessageMayGoOverTheLimit() {
    let quota = SendQuota(limit: 10)
    let reserved = [10, 100, 1].map { quota.reserve($0) }
    #expect(reserved == [true, true, false])
    let isWritable = quota.release(100)
    #expect(!isWritable)
    let again = quota.reserve(1)
    #expect(again)
  }

  @Test func tellsOfRoomOnceItIsThere() {
    let quota = SendQuota(limit: .max)
    let before = quota.isWritable
    _ = [SendQuota.highWaterBytes, 1].map { quota.reserve($0) }
    let full = quota.isWritable
    let told = [1, 1, 1].map { quota.release($0) }
    let after = quota.isWritable
    #expect([before, full, after] == [true, false, true])
    #expect(told == [false, true, false])
  }
}

extension MessageInbox {
  /// With a limit of 100 bytes.
  fileprivate mutating func receive(_ bytes: [UInt8], inPiecesOf count: Int) throws(MessageDeframer.Fault) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
      defer { buffer.deallocate() }
      buffer.copyBytes(from: piece)
      try receive(UnsafeRawBufferPointer(buffer), limit: 100)
    }
  }
}

extension MessageOutbox {
  fileprivate mutating func frame(_ capacity: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      count = write(to: buffer.baseAddress!, capacity: capacity)
    }
  }
}
