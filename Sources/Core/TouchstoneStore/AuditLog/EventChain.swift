internal import Crypto
internal import TouchstonePolicy

/// Numbers the audit log's events and chains their hashes (R41).
///
/// An event's hash is SHA-256 over the previous hash, its sequence and its content's digest. The digest is SHA-256 over
/// a random salt and the content, with each field's length in front, so that no two events share an encoding. Without
/// salt and content, the rest reveals nothing of them and still chains.
///
/// A value: keep a copy of `head` to take back appended events.
public struct EventChain: Sendable {
  /// The end of a chain: the last event's number and hash.
  public struct Head: Sendable, Hashable {
    /// 0 if there is no event yet.
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
  /// Reused for each event: one hash call over one buffer.
  private var encoding: [UInt8] = []

  public init(continuing head: Head = .genesis) {
    self.head = head
  }

  /// The event with the next number and its hash. It becomes the head.
  ///
  /// - Parameter salt: random, for this event only.
  public mutating func append(_ event: EventDraft, salt: UniqueID) -> EventRecord {
    advance(over: .whole(event, salt: salt))
    return EventRecord(sequence: head.sequence, content: .whole(event, salt: salt), hash: head.hash)
  }

  /// Moves the head over an event, whether its content is there or erased.
  mutating func advance(over content: EventRecord.Content) {
    switch content {
    case .whole(let event, let salt):
      Self.digest(of: event, salt: salt, encoding: &encoding).withUnsafeBytes { advance(over: $0) }
    case .erased(let digest): digest.withUnsafeBytes { advance(over: $0) }
    }
  }

  /// Whether the event's hash follows from the hash before it and the event's content as it stands.
  static func follows(_ record: EventRecord, from previousHash: [UInt8]) -> Bool {
    guard record.sequence > 0 else { return false }
    var chain = EventChain(continuing: Head(sequence: record.sequence - 1, hash: previousHash))
    chain.advance(over: record.content)
    return chain.head.hash == record.hash
  }

  /// Takes back every event that was appended since `head` was this one.
  public mutating func rewind(to head: Head) {
    self.head = head
  }

  /// SHA-256 over the salt and all fields of the event; 32 bytes.
  static func contentDigest(of event: EventDraft, salt: UniqueID) -> [UInt8] {
    var encoding: [UInt8] = []
    return digest(of: event, salt: salt, encoding: &encoding).withUnsafeBytes { Array($0) }
  }

  private mutating func advance(over digest: UnsafeRawBufferPointer) {
    let sequence = head.sequence + 1
    encoding.removeAll(keepingCapacity: true)
    encoding.append(contentsOf: head.hash)
    encoding.append(bigEndian: sequence)
    encoding.append(contentsOf: digest)
    head = Head(sequence: sequence, hash: SHA256.hash(of: encoding).withUnsafeBytes { Array($0) })
  }

  private static func digest(of event: EventDraft, salt: UniqueID, encoding: inout [UInt8]) -> SHA256.Digest {
    encoding.removeAll(keepingCapacity: true)
    encoding.append(bigEndian: salt.high)
    encoding.append(bigEndian: salt.low)
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
    return SHA256.hash(of: encoding)
  }
}

extension SHA256 {
  static func hash(of bytes: [UInt8]) -> Digest {
    bytes.withUnsafeBytes { bytes in
      var digest = SHA256()
      digest.update(bufferPointer: bytes)
      return digest.finalize()
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
