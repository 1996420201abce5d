/// Bounds the length that a client may announce for its ClientHello, by what it sends before it encrypts. OpenSSL
/// believes a length of up to 128 KiB and reserves as much when it has seen four bytes: a thousand such clients would
/// cost 170 MB. Pure.
struct ClientHelloGuard {
  /// Today's have 2 KiB at most, with post-quantum key shares and a ticket.
  static let maxBytes = 16 << 10

  private static let recordHeaderBytes = 5
  private static let messageHeaderBytes = 4
  private static let changeCipherSpecRecord: UInt8 = 20
  private static let alertRecord: UInt8 = 21
  private static let applicationDataRecord: UInt8 = 23
  private static let handshakeRecord: UInt8 = 22
  private static let clientHello: UInt8 = 1

  private enum State {
    /// The next bytes are a record's header or, within a record, a message's header.
    case recordHeader
    case messageHeader
    case message
    /// A record that OpenSSL passes over before a second ClientHello: CHANGE_CIPHER_SPEC (RFC 8446 §5), a warning,
    /// early data that is refused.
    case skippedRecord
    /// The bytes from here on have no such lengths.
    case over
  }

  private var state = State.recordHeader
  /// Headers may come in pieces; a message's may even lie in several records.
  private var recordHeader: UInt64 = 0
  private var recordHeaderCount = 0
  private var messageHeader: UInt32 = 0
  private var messageHeaderCount = 0
  private var recordRest = 0
  private var messageRest = 0

  /// False when the ClientHello is too long, or the second one after a request to retry.
  mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch state {
      case .over: return true
      case .recordHeader: readRecordHeader(&rest)
      case .messageHeader: if !readMessageHeader(&rest) { return false }
      case .message: skipMessage(&rest)
      case .skippedRecord: skipRecord(&rest)
      }
    }
    return true
  }

  private mutating func readRecordHeader(_ rest: inout Slice<UnsafeRawBufferPointer>) {
    recordHeader = recordHeader << 8 | UInt64(rest.removeFirst())
    recordHeaderCount += 1
    guard recordHeaderCount == Self.recordHeaderBytes else { return }
    recordRest = Int(recordHeader & 0xFFFF)
    let type = UInt8(truncatingIfNeeded: recordHeader >> 32)
    recordHeader = 0
    recordHeaderCount = 0
    switch type {
    case Self.handshakeRecord: state = inRecord
    case Self.changeCipherSpecRecord, Self.alertRecord, Self.applicationDataRecord:
      state = recordRest == 0 ? .recordHeader : .skippedRecord
    default: state = .over
    }
  }

  private mutating func readMessageHeader(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
    messageHeader = messageHeader << 8 | UInt32(rest.removeFirst())
    messageHeaderCount += 1
    recordRest -= 1
    guard messageHeaderCount == Self.messageHeaderBytes else {
      state = inRecord
      return true
    }
    messageRest = Int(messageHeader & 0xFF_FFFF)
    let isClientHello = UInt8(truncatingIfNeeded: messageHeader >> 24) == Self.clientHello
    messageHeader = 0
    messageHeaderCount = 0
    state = isClientHello ? inRecord : .over
    return !isClientHello || messageRest <= Self.maxBytes
  }

  private mutating func skipMessage(_ rest: inout Slice<UnsafeRawBufferPointer>) {
    let count = min(rest.count, messageRest, recordRest)
    rest.removeFirst(count)
    messageRest -= count
    recordRest -= count
    state = inRecord
  }

  private mutating func skipRecord(_ rest: inout Slice<UnsafeRawBufferPointer>) {
    let count = min(rest.count, recordRest)
    rest.removeFirst(count)
    recordRest -= count
    if recordRest == 0 { state = .recordHeader }
  }

  private var inRecord: State {
    if recordRest == 0 { return .recordHeader }
    return messageRest > 0 ? .message : .messageHeader
  }
}
