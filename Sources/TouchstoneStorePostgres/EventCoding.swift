// Rows of the audit log ⇄ events.

internal import TouchstonePolicy
internal import TouchstoneStore

extension EventDraft {
  /// From `time` on.
  fileprivate init(_ row: inout Row) throws(PostgresError) {
    self.init(
      time: row.time(), kind: row.text(), applicationID: row.text(), profileID: row.text(), deviceID: row.text(),
      bindingID: row.text(), caller: row.text(),
      details: try row.value([EventDetail](encoded: row.blob()), "details"))
  }
}

/// Committed, and not in the chain yet.
struct UnsealedEvent: Sendable {
  let salt: UniqueID
  let event: EventDraft

  init(_ row: inout Row) throws(PostgresError) {
    salt = try row.value(UniqueID(bytes: row.blob()), "salt")
    event = try EventDraft(&row)
  }
}

extension EventRecord {
  /// The digest is NULL where the event is not erased, since it follows from the rest.
  init(_ row: inout Row) throws(PostgresError) {
    self.init(sequence: row.version(), content: .erased(digest: []), hash: row.blob())
    if let digest = row.optionalBlob() {
      content = .erased(digest: digest)
    } else {
      let salt = try row.value(UniqueID(bytes: row.blob()), "salt")
      content = .whole(try EventDraft(&row), salt: salt)
    }
  }
}

extension EventChain.Head {
  init(_ row: inout Row) {
    self.init(sequence: row.version(), hash: row.blob())
  }
}
