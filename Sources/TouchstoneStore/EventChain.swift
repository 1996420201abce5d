// The audit log's hash chain: each event's hash covers all events before it (R41).

internal import Crypto
internal import TouchstonePolicy

/// Numbers events and chains their hashes.
///
/// An event's hash is SHA-256 over the hash before it, its sequence and its content, every field with its length in
/// front, so that no two events share an encoding. A value: keep a copy of `head` to take appended events back.
public struct EventChain: Sendable {
  /// Where a chain ends: the last event's number and hash.
  public struct Head: Sendable, Hashable {
    /// 0 where there is no event yet.
    public var sequence: UInt64
    /// 32 bytes.
    public var hash: [UInt8]

    public init(sequence: UInt64, hash: [UInt8]) {
      self.sequence = sequence
      self.hash = hash
    }

    /// Before the first event: 32 zero bytes, which no known input hashes to.
    public static let genesis = Head(sequence: 0, hash: [UInt8](repeating: 0, count: EventChain.hashByteCount))
  }

  public static let hashByteCount = 32

  public private(set) var head: Head
  /// Reused from event to event: one hash call over one buffer.
  private var encoding: [UInt8] = []

  public init(continuing head: Head = .genesis) {
    self.head = head
  }

  /// The event with the next number and its hash; it is the head from now on.
  public mutating func append(_ event: EventDraft) -> EventRecord {
    let sequence = head.sequence + 1
    head = Head(sequence: sequence, hash: hash(of: event, sequence: sequence))
    return EventRecord(sequence: sequence, event: event, hash: head.hash)
  }

  /// Takes back all that was appended since `head` was this one.
  public mutating func rewind(to head: Head) {
    self.head = head
  }

  private mutating func hash(of event: EventDraft, sequence: UInt64) -> [UInt8] {
    encoding.removeAll(keepingCapacity: true)
    encoding.append(contentsOf: head.hash)
    encoding.append(bigEndian: sequence)
    encoding.append(bigEndian: UInt64(bitPattern: event.time.microseconds))
    encoding.append(lengthPrefixed: event.kind)
    encoding.append(lengthPrefixed: event.applicationID)
    encoding.append(lengthPrefixed: event.profileID)
    encoding.append(lengthPrefixed: event.deviceID)
    encoding.append(lengthPrefixed: event.bindingID)
    encoding.append(lengthPrefixed: event.caller)
    encoding.append(bigEndian: UInt32(event.details.count))
    for detail in event.details {
      encoding.append(lengthPrefixed: detail.key)
      encoding.append(lengthPrefixed: detail.value)
    }
    return encoding.withUnsafeBytes { bytes in
      var digest = SHA256()
      digest.update(bufferPointer: bytes)
      return [UInt8](digest.finalize())
    }
  }
}

extension [UInt8] {
  package mutating func append(bigEndian value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// Four bytes of length, big-endian, and the text's UTF-8.
  package mutating func append(lengthPrefixed text: String) {
    append(bigEndian: UInt32(text.utf8.count))
    var text = text
    text.withUTF8 { append(contentsOf: $0) }
  }
}
