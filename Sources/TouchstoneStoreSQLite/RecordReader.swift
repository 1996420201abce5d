// The questions a store is asked about its records, on one connection.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection. On the writer's connection it also sees what the open transaction did.
final class RecordReader {
  private let selectBinding: Statement
  private let selectBindingOfDevice: Statement
  private let selectBindingOfProfileTouchID: Statement
  private let selectPage: Statement
  private let countActiveBindings: Statement
  private let selectDevice: Statement
  private let selectProfile: Statement
  private let selectEvaluation: Statement
  private let selectToken: Statement
  private let selectTicket: Statement
  private let selectSweptBefore: Statement

  init(on connection: SQLiteConnection) throws(SQLiteError) {
    func prepare(_ sql: String) throws(SQLiteError) -> Statement { try Statement(sql, on: connection) }
    let binding = """
      SELECT \(BindingRecord.columns) FROM \(BindingRecord.joined)
      """
    selectBinding = try prepare("\(binding) WHERE binding_id = ?")
    selectBindingOfDevice = try prepare("\(binding) WHERE application_id = ? AND device_id = ? AND NOT is_revoked")
    selectBindingOfProfileTouchID = try prepare(
      "\(binding) WHERE application_id = ? AND profile_touch_id = ? AND NOT is_revoked")
    selectPage = try prepare(
      """
      \(binding) WHERE application_id = ? AND profile_id = ? AND binding_id > ? AND (NOT is_revoked OR ?)
      ORDER BY binding_id LIMIT ?
      """)
    countActiveBindings = try prepare(
      "SELECT count(*) FROM bindings WHERE application_id = ? AND profile_id = ? AND NOT is_revoked")
    selectDevice = try prepare("SELECT \(DeviceRecord.columns) FROM devices WHERE device_id = ?")
    selectProfile = try prepare(
      "SELECT \(ProfileRecord.columns) FROM profiles WHERE application_id = ? AND profile_id = ?")
    selectEvaluation = try prepare(
      "SELECT \(EvaluationRecord.columns) FROM evaluations WHERE expires_at = ? AND id = ?")
    selectToken = try prepare("SELECT \(TokenRecord.columns) FROM tokens WHERE expires_at = ? AND id = ?")
    selectTicket = try prepare("SELECT 1 FROM used_tickets WHERE expires_at = ? AND id = ?")
    selectSweptBefore = try prepare("SELECT swept_before FROM sweep_mark")
  }

  func binding(id: String) throws(SQLiteError) -> BindingRecord? {
    try selectBinding.bind(id).first(BindingRecord.init)
  }

  /// Whoever's it is.
  func activeBinding(applicationID: String, deviceID: String) throws(SQLiteError) -> BindingRecord? {
    try selectBindingOfDevice.bind(applicationID).bind(deviceID).first(BindingRecord.init)
  }

  /// Whoever's it is (R30).
  func activeBinding(applicationID: String, profileTouchID digest: [UInt8]) throws(SQLiteError) -> BindingRecord? {
    try selectBindingOfProfileTouchID.bind(applicationID).bind(digest).first(BindingRecord.init)
  }

  func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int
  ) throws(SQLiteError) -> [BindingRecord] {
    selectPage.bind(applicationID).bind(profileID).bind(after ?? "").bind(includingRevoked).bind(limit)
    defer { selectPage.reset() }
    var bindings: [BindingRecord] = []
    while var row = try selectPage.next() { bindings.append(try BindingRecord(&row)) }
    return bindings
  }

  func activeBindingCount(applicationID: String, profileID: String) throws(SQLiteError) -> Int {
    try countActiveBindings.bind(applicationID).bind(profileID).first { row in Int(row.integer()) } ?? 0
  }

  /// Where the vendor has no record of its own, the one that it inherits.
  func device(id: String, vendor: Vendor) throws(SQLiteError) -> DeviceRecord? {
    let own = try selectDevice.bind(vendor.storedID(ofDevice: id)).first { row in DeviceRecord(&row) }
    guard own == nil, vendor != .everybody else { return own }
    return try selectDevice.bind(id).first { row in DeviceRecord(&row) }?.inherited(by: vendor)
  }

  func profile(applicationID: String, profileID: String) throws(SQLiteError) -> ProfileRecord? {
    try selectProfile.bind(applicationID).bind(profileID).first(ProfileRecord.init)
  }

  /// Finished, where it may have been swept.
  func evaluation(_ key: ExpiringKey) throws(SQLiteError) -> EvaluationRecord? {
    let evaluation = try selectEvaluation.bind(key).first(EvaluationRecord.init)
    guard try isSwept(key) else { return evaluation }
    return EvaluationRecord(key: key, standing: EvaluationStanding(isFinished: true))
  }

  /// Revoked, where it may have been swept.
  func token(_ key: ExpiringKey) throws(SQLiteError) -> TokenRecord? {
    let token = try selectToken.bind(key).first(TokenRecord.init)
    guard try isSwept(key) else { return token }
    return TokenRecord(key: key, state: .revoked, transaction: [], version: 0)
  }

  /// Or may have been, and swept.
  func isUsed(ticket key: ExpiringKey) throws(SQLiteError) -> Bool {
    let isUsed = try selectTicket.bind(key).first { _ in true } ?? false
    if isUsed { return true }
    return try isSwept(key)
  }

  /// Rows with an earlier expiry may be gone; it never decreases.
  func sweptBefore() throws(SQLiteError) -> UnixTime {
    let time = try selectSweptBefore.first { row in row.time() }
    guard let time else { throw SQLiteError(code: .corrupt, message: "the sweep has no mark") }
    return time
  }

  /// To be asked after the row was: a sweep that comes in between moves the mark, too.
  private func isSwept(_ key: ExpiringKey) throws(SQLiteError) -> Bool {
    try key.expiresAt < sweptBefore()
  }
}
