// Takes a profile out of the database.

internal import TouchstonePolicy
internal import TouchstoneStore

/// The events that an erasure's search found, before the writer came to it.
struct FoundEvents: Sendable {
  /// Rising. Some may be erased by now.
  var sequences: [UInt64]
  /// How far was searched: what came later is the writer's to find.
  var searchedThrough: UInt64
}

/// Confined like its connection.
final class ProfileEraser {
  struct Removed {
    var bindings: [String] = []
    var devices: [String] = []
    var profiles: [ProfileKey] = []
    /// Of the profiles: 0 where there was none.
    var highestVersion: RecordVersion = 0
    /// How many of them were stand-ins that were there.
    var standIns = StandInCounts()
  }

  private let deleteUses: Statement
  private let deletePostures: Statement
  private let deleteBindings: Statement
  private let deleteProfile: Statement
  private let deleteDevice: Statement
  private let raiseMark: Statement
  private let selectMark: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    func prepare(_ sql: String) throws(SQLiteError) -> Statement { try Statement(sql, on: connection) }
    let ofProfile = "application_id = ? AND profile_id = ?"
    let ofItsBinding = "binding_number IN (SELECT number FROM bindings WHERE \(ofProfile))"
    deleteUses = try prepare("DELETE FROM binding_uses WHERE \(ofItsBinding)")
    deletePostures = try prepare("DELETE FROM binding_postures WHERE \(ofItsBinding)")
    deleteBindings = try prepare("DELETE FROM bindings WHERE \(ofProfile) RETURNING binding_id")
    deleteProfile = try prepare("DELETE FROM profiles WHERE \(ofProfile) RETURNING version")
    deleteDevice = try prepare("DELETE FROM devices WHERE device_id = ? RETURNING version")
    raiseMark = try prepare("UPDATE erasure_mark SET highest_version = ?1 WHERE highest_version < ?1")
    selectMark = try prepare("SELECT highest_version FROM erasure_mark")
  }

  /// The highest version that an erased profile had.
  func mark() throws(SQLiteError) -> RecordVersion {
    let mark = try selectMark.first { row in row.version() }
    guard let mark else { throw SQLiteError(code: .corrupt, message: "the erasures have no mark") }
    return mark
  }

  /// All of the profile but its events.
  func removeRecords(of erasure: ProfileErasure) throws(SQLiteError) -> Removed {
    var removed = Removed()
    for delete in [deleteUses, deletePostures] {
      try delete.bind(erasure.applicationID).bind(erasure.profileID).run()
    }
    deleteBindings.bind(erasure.applicationID).bind(erasure.profileID)
    while var row = try deleteBindings.next() { removed.bindings.append(row.text()) }
    try removeProfile(erasure.profileID, of: erasure, from: &removed)
    try removeStandIn(ProfileRecord.standInID(forProfile: erasure.profileID), of: erasure, from: &removed)
    for binding in removed.bindings {
      let device = DeviceRecord.standInID(forUnknownBinding: binding, applicationID: erasure.applicationID)
      if try deleteDevice.bind(device).first({ row in row.version() }) != nil { removed.standIns.devices += 1 }
      let ofRevoked = DeviceRecord.standInID(forRevokedBinding: binding)
      try deleteDevice.bind(ofRevoked).run()
      removed.devices += [device, ofRevoked]
      try removeStandIn(ProfileRecord.standInID(forUnknownBinding: binding), of: erasure, from: &removed)
    }
    try raiseMark.bind(removed.highestVersion).run()
    return removed
  }

  private func removeStandIn(
    _ profileID: String, of erasure: ProfileErasure, from removed: inout Removed
  ) throws(SQLiteError) {
    if try removeProfile(profileID, of: erasure, from: &removed) { removed.standIns.profiles += 1 }
  }

  /// Whether it was there.
  @discardableResult
  private func removeProfile(
    _ profileID: String, of erasure: ProfileErasure, from removed: inout Removed
  ) throws(SQLiteError) -> Bool {
    let version = try deleteProfile.bind(erasure.applicationID).bind(profileID).first { row in row.version() }
    removed.profiles.append(ProfileKey(applicationID: erasure.applicationID, profileID: profileID))
    removed.highestVersion = max(version ?? 0, removed.highestVersion)
    return version != nil
  }
}
