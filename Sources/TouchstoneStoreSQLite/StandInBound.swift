// Keeps the number of stand-ins within its bound: the least recently written go first (R37).

internal import TouchstonePolicy
internal import TouchstoneStore

/// How many there are stands in a row of its own, so that neither a start nor a sweep counts a million rows. Confined like
/// its connection.
final class StandInBound {
  /// Of each kind, in one transaction: more than its commits can add, and some milliseconds where the bound was lowered.
  private static let rowsPerTransaction = 1_024

  struct Evicted {
    var devices: [String] = []
    var profiles: [ProfileKey] = []
  }

  private let maximum: Int
  private let selectCounts: Statement
  private let setCounts: Statement
  private let evictDevices: Statement
  private let evictProfiles: Statement

  init(maximum: Int, on connection: SQLiteConnection) throws(SQLiteError) {
    self.maximum = maximum
    selectCounts = try Statement("SELECT devices, profiles FROM stand_in_counts", on: connection)
    setCounts = try Statement("UPDATE stand_in_counts SET devices = ?, profiles = ?", on: connection)
    evictDevices = try Statement(
      """
      DELETE FROM devices WHERE device_id IN (
        SELECT device_id FROM devices WHERE stand_in_until IS NOT NULL ORDER BY stand_in_until LIMIT ?)
      RETURNING device_id
      """, on: connection)
    evictProfiles = try Statement(
      """
      DELETE FROM profiles WHERE (application_id, profile_id) IN (
        SELECT application_id, profile_id FROM profiles WHERE stand_in_until IS NOT NULL ORDER BY stand_in_until LIMIT ?)
      RETURNING application_id, profile_id
      """, on: connection)
  }

  func counts() throws(SQLiteError) -> StandInCounts {
    let counts = try selectCounts.first { row in
      StandInCounts(devices: Int(row.integer()), profiles: Int(row.integer()))
    }
    guard let counts else { throw SQLiteError(code: .corrupt, message: "the stand-ins have no count") }
    return counts
  }

  func set(_ counts: StandInCounts) throws(SQLiteError) {
    try setCounts.bind(counts.devices).bind(counts.profiles).run()
  }

  func isExceeded(by counts: StandInCounts) -> Bool {
    max(counts.devices, counts.profiles) > maximum
  }

  /// Removes what is over the bound, and takes it from `counts`.
  func evict(from counts: inout StandInCounts) throws(SQLiteError) -> Evicted {
    var evicted = Evicted()
    if counts.devices > maximum {
      evictDevices.bind(min(counts.devices - maximum, Self.rowsPerTransaction))
      while var row = try evictDevices.next() { evicted.devices.append(row.text()) }
      counts.devices -= evicted.devices.count
    }
    if counts.profiles > maximum {
      evictProfiles.bind(min(counts.profiles - maximum, Self.rowsPerTransaction))
      while var row = try evictProfiles.next() {
        evicted.profiles.append(ProfileKey(applicationID: row.text(), profileID: row.text()))
      }
      counts.profiles -= evicted.profiles.count
    }
    return evicted
  }
}
