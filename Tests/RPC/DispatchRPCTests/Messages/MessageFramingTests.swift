// Length-prefixed messages: in, however DATA frames cut them; out, however little room there is.

import Testing

@testable import DispatchRPC

@Suite struct MessageDeframerTests {
  @Test(arguments: 1...9)
  func takesAnyCut(_ pieceBytes: Int) throws {
    var deframer = MessageDeframer()
    try deframer.append(frame([1, 2, 3, 4]), inPiecesOf: pieceBytes)
    #expect(deframer.completeness == .complete)
    #expect(deframer.message == [1, 2, 3, 4])
  }

  @Test(
    arguments: [
      ([], .missing), ([0], .truncated), ([0, 0, 0, 0, 0], .complete), ([0, 0, 0, 0, 2, 9], .truncated),
    ] as [([UInt8], MessageDeframer.Completeness)])
  func knowsWhatIsThere(_ bytes: [UInt8], completeness: MessageDeframer.Completeness) throws {
    var deframer = MessageDeframer()
    try deframer.append(bytes, inPiecesOf: 100)
    #expect(deframer.completeness == completeness)
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0, 101], .tooLarge(101)), ([0, 0xFF, 0xFF, 0xFF, 0xFF], .tooLarge(4_294_967_295)),
      ([2, 0, 0, 0, 0], .malformedFlag), ([0, 0, 0, 0, 1, 9, 0], .extraMessage), ([0, 0, 0, 0, 0, 0], .extraMessage),
    ] as [([UInt8], MessageDeframer.Fault)])
  func refuses(_ bytes: [UInt8], fault: MessageDeframer.Fault) {
    var deframer = MessageDeframer()
    #expect(throws: fault) { try deframer.append(bytes, inPiecesOf: 100) }
  }

  @Test func tellsACompressedMessage() throws {
    var deframer = MessageDeframer()
    try deframer.append([1, 0, 0, 0, 1, 9], inPiecesOf: 100)
    #expect(deframer.isCompressed)
  }

  @Test func startsAnewAfterReset() throws {
    var deframer = MessageDeframer()
    try deframer.append([1, 0, 0, 0, 1, 9], inPiecesOf: 100)
    deframer.reset()
    #expect(deframer.completeness == .missing)
    try deframer.append(frame([7]), inPiecesOf: 100)
    #expect(deframer.message == [7])
    #expect(!deframer.isCompressed)
  }
}

@Suite struct OutgoingMessageTests {
  @Test(arguments: [1, 3, 5, 6, 100])
  func writesPieceByPiece(_ capacity: Int) {
    var message = OutgoingMessage([1, 2, 3, 4])
    var output: [UInt8] = []
    while message.remainingBytes > 0 {
      let piece = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
        count = message.write(to: buffer.baseAddress!, capacity: capacity)
      }
      #expect(!piece.isEmpty)
      output += piece
    }
    #expect(output == frame([1, 2, 3, 4]))
  }

  @Test func anEmptyMessageIsItsPrefix() {
    #expect(OutgoingMessage([]).remainingBytes == 5)
  }
}

private func frame(_ message: [UInt8]) -> [UInt8] {
  [0, 0, 0, 0, UInt8(message.count)] + message
}

extension MessageDeframer {
  /// With a limit of 100 bytes.
  fileprivate mutating func append(_ bytes: [UInt8], inPiecesOf count: Int) throws(Fault) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      // `withUnsafeBytes` cannot throw a fault of its own type through a mutation of self.
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
      defer { buffer.deallocate() }
      buffer.copyBytes(from: piece)
      try append(UnsafeRawBufferPointer(buffer), limit: 100)
    }
  }
}
