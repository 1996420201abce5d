// The lines of an archive of the audit log: one JSON object each.

internal import Encodings
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// A file is a header, its events in their order, and a trailer:
///
///     {"archive":"touchstone.events","version":1,"first_sequence":1,"previous_hash":"00…"}
///     {"sequence":1,"time_us":…,"kind":"binding.created",…,"details":["key","value",…],"salt":"…","hash":"…"}
///     {"sequence":2,"erased":"log","digest":"…","hash":"…"}
///     {"sequence":3,"erased":"archive","digest":"…","signature_key":"…","signature":"…","hash":"…"}
///     {"last_sequence":3,"last_hash":"…"}
///
/// The signature is there if an audit key made one. Bytes are hexadecimal, times are microseconds since 1970. An event
/// has every field that its hash covers (`EventChain`).
enum ArchiveLine: Hashable {
  /// The event after which the file begins.
  case header(EventChain.Head)
  case event(ArchivedEvent)
  /// The last event.
  case trailer(EventChain.Head)
}

struct ArchivedEvent: Hashable {
  var record: EventRecord
  /// Its content was erased in the archive, not in the log, so no event accounts for it.
  var erasureHere: ArchiveErasure?
}

extension ArchiveLine {
  private static let format = "touchstone.events"
  private static let version: Int64 = 1
  private static let erasedInLog = "log"
  private static let erasedInArchive = "archive"

  // MARK: Writing

  /// Without the line's end.
  var encoded: [UInt8] {
    var writer = JSONObjectWriter()
    switch self {
    case .header(let start):
      writer.write("archive", Self.format)
      writer.write("version", Self.version)
      writer.write("first_sequence", Int64(start.sequence + 1))
      writer.write("previous_hash", Hexadecimal.text(start.hash))
    case .event(let event): Self.write(event, to: &writer)
    case .trailer(let end):
      writer.write("last_sequence", Int64(end.sequence))
      writer.write("last_hash", Hexadecimal.text(end.hash))
    }
    return writer.finish()
  }

  private static func write(_ archived: ArchivedEvent, to writer: inout JSONObjectWriter) {
    let record = archived.record
    writer.write("sequence", Int64(record.sequence))
    switch record.content {
    case .whole(let event, let salt):
      writer.write("time_us", event.time.microseconds)
      writer.write("kind", event.kind)
      writer.write("application_id", event.applicationID)
      writer.write("profile_id", event.profileID)
      writer.write("device_id", event.deviceID)
      writer.write("binding_id", event.bindingID)
      writer.write("caller", event.caller)
      writer.write("details", event.details.flatMap { [$0.key, $0.value] })
      writer.write("salt", Hexadecimal.text(salt.bytes))
    case .erased(let digest):
      writer.write("erased", archived.erasureHere == nil ? erasedInLog : erasedInArchive)
      writer.write("digest", Hexadecimal.text(digest))
      if let signature = archived.erasureHere?.signature {
        writer.write("signature_key", signature.keyID)
        writer.write("signature", Hexadecimal.text(signature.bytes))
      }
    }
    writer.write("hash", Hexadecimal.text(record.hash))
  }

  // MARK: Reading

  /// `nil`: not a line as it is written above.
  init?(_ line: [UInt8]) {
    guard case .object(let members)? = try? JSONReader.read(line) else { return nil }
    let fields = Fields(members)
    if members["sequence"] != nil {
      guard let event = Self.event(fields) else { return nil }
      self = .event(event)
    } else if members["archive"] != nil {
      guard fields.text("archive") == Self.format, fields.integer("version") == Self.version,
        let first = fields.sequence("first_sequence"), let hash = fields.hash("previous_hash")
      else { return nil }
      self = .header(EventChain.Head(sequence: first - 1, hash: hash))
    } else {
      guard let last = fields.sequence("last_sequence"), let hash = fields.hash("last_hash") else { return nil }
      self = .trailer(EventChain.Head(sequence: last, hash: hash))
    }
    // No further members and no other spelling: only lines that this writer makes are read.
    guard encoded == line else { return nil }
  }

  private static func event(_ fields: Fields) -> ArchivedEvent? {
    guard let sequence = fields.sequence("sequence"), let hash = fields.hash("hash") else { return nil }
    if let place = fields.text("erased") {
      guard let digest = fields.hash("digest") else { return nil }
      return ArchivedEvent(
        record: EventRecord(sequence: sequence, content: .erased(digest: digest), hash: hash),
        erasureHere: place == erasedInArchive ? ArchiveErasure(signature: signature(fields)) : nil)
    }
    guard let event = draft(fields), let salt = fields.bytes("salt").flatMap({ UniqueID(bytes: $0) }) else {
      return nil
    }
    return ArchivedEvent(record: EventRecord(sequence: sequence, content: .whole(event, salt: salt), hash: hash))
  }

  private static func signature(_ fields: Fields) -> AccountSignature? {
    guard let keyID = fields.text("signature_key"), let bytes = fields.bytes("signature") else { return nil }
    return AccountSignature(keyID: keyID, bytes: bytes)
  }

  private static func draft(_ fields: Fields) -> EventDraft? {
    guard let time = fields.integer("time_us"), let kind = fields.text("kind"),
      let application = fields.text("application_id"), let profile = fields.text("profile_id"),
      let device = fields.text("device_id"), let binding = fields.text("binding_id"),
      let caller = fields.text("caller"), let details = fields.texts("details"), details.count.isMultiple(of: 2)
    else { return nil }
    return EventDraft(
      time: UnixTime(microseconds: time), kind: kind, applicationID: application, profileID: profile, deviceID: device,
      bindingID: binding, caller: caller,
      details: stride(from: 0, to: details.count, by: 2).map {
        EventDetail(key: details[$0], value: details[$0 + 1])
      })
  }
}

/// The members of one object, read by their expected types.
private struct Fields {
  private let members: [String: JSONValue]

  init(_ members: [String: JSONValue]) {
    self.members = members
  }

  func text(_ name: String) -> String? {
    if case .string(let text) = members[name] { text } else { nil }
  }

  func texts(_ name: String) -> [String]? {
    members[name]?.strings
  }

  func integer(_ name: String) -> Int64? {
    if case .integer(let integer) = members[name] { integer } else { nil }
  }

  /// Events are numbered from 1.
  func sequence(_ name: String) -> UInt64? {
    integer(name).flatMap { $0 > 0 ? UInt64($0) : nil }
  }

  func bytes(_ name: String) -> [UInt8]? {
    text(name).flatMap { Hexadecimal.bytes($0) }
  }

  func hash(_ name: String) -> [UInt8]? {
    bytes(name).flatMap { $0.count == EventChain.hashByteCount ? $0 : nil }
  }
}

/// It is in the event's own line, so the file itself accounts for the erasure. The log does not, because the event was
/// already archived.
struct ArchiveErasure: Hashable {
  /// `nil`: the erasure had no audit key.
  var signature: AccountSignature?

  private static let domain = Array("touchstone archive erasure 1\0".utf8)

  /// The signed bytes. The event's hash covers its content and all events before it, so the signature is valid only for
  /// this content at this place of this log.
  static func message(for record: EventRecord) -> [UInt8] {
    var message = domain
    message.append(bigEndian: record.sequence)
    return message + record.hash
  }
}
