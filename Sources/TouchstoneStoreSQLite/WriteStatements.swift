// What the writer says to the database.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection. Records go in with the version that they have afterwards.
final class WriteStatements {
  let begin: Statement
  let commit: Statement
  let rollback: Statement
  /// Binding id, time.
  let touchBinding: Statement
  /// A key.
  let useTicket: Statement
  /// Binding id, posture.
  let notePosture: Statement
  private let putFirstPosture: Statement
  private let putBinding: Statement
  private let addUse: Statement
  private let keepLatestUse: Statement
  private let putDevice: Statement
  private let putProfile: Statement
  private let putEvaluation: Statement
  private let putToken: Statement
  private let addRow: Statement
  private let removeRow: Statement
  private let putFirstKeyCheck: Statement
  private let selectKeyCheck: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    func prepare(_ sql: String) throws(SQLiteError) -> Statement { try Statement(sql, on: connection) }
    // The write lock at once: nothing can come in between the comparing and the setting.
    begin = try prepare("BEGIN IMMEDIATE")
    commit = try prepare("COMMIT")
    rollback = try prepare("ROLLBACK")
    let isOfBinding = "binding_number = (SELECT number FROM bindings WHERE binding_id = ?1)"
    touchBinding = try prepare("UPDATE binding_uses SET last_used_at = ?2 WHERE \(isOfBinding)")
    keepLatestUse = try prepare(
      "UPDATE binding_uses SET last_used_at = max(coalesce(last_used_at, ?2), ?2) WHERE \(isOfBinding)")
    func notingPosture(_ insert: String) throws(SQLiteError) -> Statement {
      try prepare("\(insert) INTO binding_postures SELECT number, ?2 FROM bindings WHERE binding_id = ?1")
    }
    notePosture = try notingPosture("INSERT OR REPLACE")
    putFirstPosture = try notingPosture("INSERT OR IGNORE")
    addUse = try prepare(
      "INSERT OR IGNORE INTO binding_uses (binding_number) SELECT number FROM bindings WHERE binding_id = ?")
    useTicket = try prepare("INSERT OR IGNORE INTO used_tickets (expires_at, id) VALUES (?, ?)")
    putBinding = try prepare(
      """
      INSERT INTO bindings (
        binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys,
        profile_touch_id, is_revoked, baseline, baseline_os_major, platform_family, device_lock_count, created_at,
        version)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (binding_id) DO UPDATE SET
        application_id = excluded.application_id, profile_id = excluded.profile_id, device_id = excluded.device_id,
        device_name = excluded.device_name, biometry_type = excluded.biometry_type,
        hardware_keys = excluded.hardware_keys, profile_touch_id = excluded.profile_touch_id,
        is_revoked = excluded.is_revoked, baseline = excluded.baseline,
        baseline_os_major = excluded.baseline_os_major, platform_family = excluded.platform_family,
        device_lock_count = excluded.device_lock_count,
        created_at = excluded.created_at, version = excluded.version
      """)
    putDevice = try prepare(
      "INSERT OR REPLACE INTO devices (\(DeviceRecord.columns), stand_in_until) VALUES (?, ?, ?, ?, ?, ?)")
    putProfile = try prepare(
      """
      INSERT OR REPLACE INTO profiles (\(ProfileRecord.columns), stand_in_until)
      VALUES (\(ProfileRecord.columns.split(separator: ",").map { _ in "?, " }.joined())?)
      """)
    putEvaluation = try prepare("INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?, ?, ?)")
    putToken = try prepare("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?)")
    // A key that no ticket has.
    addRow = try prepare("INSERT INTO used_tickets (expires_at, id) VALUES (\(Int64.min), x'')")
    removeRow = try prepare("DELETE FROM used_tickets WHERE expires_at = \(Int64.min)")
    putFirstKeyCheck = try prepare("INSERT OR IGNORE INTO key_check VALUES (1, ?)")
    selectKeyCheck = try prepare("SELECT value FROM key_check")
  }

  func put(_ binding: BindingRecord) throws(SQLiteError) {
    putBinding.bind(binding.bindingID).bind(binding.applicationID).bind(binding.profileID).bind(binding.deviceID)
      .bind(binding.deviceName).bind(binding.biometryType.rawValue)
    switch binding.credential {
    case .hardwareKeys(let keys): putBinding.bind(keys.encoded).bindNull()
    case .profileTouchID(let digest): putBinding.bindNull().bind(digest)
    }
    putBinding.bind(binding.isRevoked)
    if let baseline = binding.baseline {
      putBinding.bind(baseline.domainState).bind(baseline.osMajorVersion)
    } else {
      putBinding.bindNull().bindNull()
    }
    putBinding.bind(binding.platformFamily?.rawValue)
    try putBinding.bind(binding.deviceLockCount).bind(binding.createdAt).bind(binding.version).run()
    try addUse.bind(binding.bindingID).run()
    if let lastUsedAt = binding.lastUsedAt { try keepLatestUse.bind(binding.bindingID).bind(lastUsedAt).run() }
    if let lastSeen = binding.lastSeen { try putFirstPosture.bind(binding.bindingID).bind(lastSeen.encoded).run() }
  }

  func put(_ device: DeviceRecord, at time: UnixTime) throws(SQLiteError) {
    try putDevice.bind(device.storedID).bind(device.biometry.consecutiveFailures).bind(device.biometry.isLockedOut)
      .bind(device.lockCount).bind(device.version).bind(device.standInEnd(writtenAt: time)?.microseconds).run()
  }

  func put(_ profile: ProfileRecord, at time: UnixTime) throws(SQLiteError) {
    let settings = profile.settings
    putProfile.bind(profile.applicationID).bind(profile.profileID).bind(settings.isBiometryEnabled)
      .bind(settings.isGestureEnabled).bind(settings.isPasscodeEnabled).bind(settings.preferred?.rawValue)
      .bind(settings.updatedAt?.microseconds).bind(profile.passcode).bind(profile.gesture)
      .bind(profile.createdAt).bind(profile.version)
    try putProfile.bind(profile.standInEnd(writtenAt: time)?.microseconds).run()
  }

  func put(_ evaluation: EvaluationRecord) throws(SQLiteError) {
    let standing = evaluation.standing
    try putEvaluation.bind(evaluation.key).bind(standing.failures).bind(standing.deviceOwnerFailures)
      .bind(standing.isFinished).bind(evaluation.version).run()
  }

  func put(_ token: TokenRecord) throws(SQLiteError) {
    try putToken.bind(token.key).bind(token.state.rawValue).bind(token.transaction).bind(token.version).run()
  }

  /// Leaves the rows as they were, and pages to be written.
  func writeAndRemove() throws(SQLiteError) {
    try addRow.run()
    try removeRow.run()
  }

  /// The one that holds.
  func keyCheck(initially check: [UInt8]) throws(SQLiteError) -> [UInt8] {
    try putFirstKeyCheck.bind(check).run()
    return try selectKeyCheck.first { row in row.blob() } ?? check
  }
}
