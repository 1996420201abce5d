// Removes a profile from the database.

internal import TouchstoneStore

/// An erasure and the events that it still has to take. They go first, in transactions of a bounded number each; the
/// records go in the last one. An erasure that is cut short therefore leaves the profile in place, and a repeated one
/// completes it: the id is free for a new person only when nothing is left of the old one.
struct EventErasure: Sendable {
  let erasure: ProfileErasure
  /// Rising. Some may be erased by another erasure.
  var sequences: ArraySlice<UInt64>
  /// The log was searched up to here. The writer searches what came later.
  var searchedThrough: UInt64
  var findings = ErasureFindings()

  /// One transaction takes what is left.
  var isLastPart: Bool { sequences.count <= ProfileErasure.maximumEventsPerTransaction }

  /// The next part, which is no longer left.
  mutating func takePart() -> ArraySlice<UInt64> {
    let part = sequences.prefix(ProfileErasure.maximumEventsPerTransaction)
    sequences = sequences.dropFirst(part.count)
    return part
  }
}

/// Confined like its connection.
final class ProfileEraser {
  struct Removed {
    var bindings: [String] = []
    /// The profile's; `nil`: there was none.
    var version: RecordVersion?
  }

  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) {
    self.connection = connection
  }

  private static let ofProfile = "application_id = ? AND profile_id = ?"
  private static let ofItsBinding = "binding_number IN (SELECT number FROM bindings WHERE \(ofProfile))"

  private lazy var deletions = [
    "DELETE FROM binding_uses WHERE \(Self.ofItsBinding)", "DELETE FROM binding_postures WHERE \(Self.ofItsBinding)",
    """
    DELETE FROM app_attest_receipts
    WHERE binding_id IN (SELECT binding_id FROM bindings WHERE \(Self.ofProfile))
    """,
  ].map { Statement($0, on: connection) }
  private lazy var deleteBindings = Statement(
    "DELETE FROM bindings WHERE \(Self.ofProfile) RETURNING binding_id", on: connection)
  private lazy var deleteProfile = Statement(
    "DELETE FROM profiles WHERE \(Self.ofProfile) RETURNING version", on: connection)

  /// Removes everything of the profile except its events.
  func removeRecords(of erasure: ProfileErasure) throws(SQLiteError) -> Removed {
    var removed = Removed()
    for deletion in deletions {
      try deletion.bind(erasure.applicationID).bind(erasure.profileID).run()
    }
    deleteBindings.bind(erasure.applicationID).bind(erasure.profileID)
    while var row = try deleteBindings.next() { removed.bindings.append(row.text()) }
    removed.version = try deleteProfile.bind(erasure.applicationID).bind(erasure.profileID).first { row in row.version()
    }
    return removed
  }
}
