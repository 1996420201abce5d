// The account of an event that lost its content in an archive file.

internal import TouchstoneStore

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
