// Queries about records, on one connection.

internal import TouchstonePolicy
internal import TouchstoneStore

/// Confined like its connection. On the writer's connection it also sees what the open transaction did.
final class RecordReader {
  private let connection: SQLiteConnection

  private static let binding = "SELECT \(BindingRecord.columns) FROM \(BindingRecord.joined)"
  static let page = page(where: "")
  /// A statement of its own, so that an index serves it in which no revoked binding stands: they are kept for good.
  static let activePage = page(where: "AND NOT is_revoked")
  static let profileIDs =
    "SELECT profile_id FROM profiles WHERE application_id = ? AND profile_id >= ? ORDER BY profile_id LIMIT ?"
  static let activeCount =
    "SELECT count(*) FROM bindings WHERE application_id = ? AND profile_id = ? AND NOT is_revoked"

  private static func page(where condition: String) -> String {
    "\(binding) WHERE application_id = ? AND profile_id = ? AND binding_id > ? \(condition) ORDER BY binding_id LIMIT ?"
  }

  init(on connection: SQLiteConnection) {
    self.connection = connection
  }

  private func statement(_ sql: String) -> Statement { Statement(sql, on: connection) }

  private lazy var selectBinding = statement("\(Self.binding) WHERE binding_id = ?")
  private lazy var selectBindingOfDevice = statement(
    "\(Self.binding) WHERE application_id = ? AND device_id = ? AND NOT is_revoked")
  private lazy var selectBindingOfProfileTouchID = statement(
    "\(Self.binding) WHERE application_id = ? AND profile_touch_id = ? AND NOT is_revoked")
  private lazy var selectActivePage = statement(Self.activePage)
  private lazy var selectPage = statement(Self.page)
  private lazy var countActiveBindings = statement(Self.activeCount)
  private lazy var selectReceipt = statement("SELECT receipt FROM app_attest_receipts WHERE binding_id = ?")
  private lazy var selectDevice = statement("SELECT \(DeviceRecord.columns) FROM devices WHERE device_id = ?")
  private lazy var selectErasureMark = statement(
    "SELECT version FROM erasure_marks WHERE application_id = ? AND mark_id = ?")
  private lazy var selectProfile = statement(
    "SELECT \(ProfileRecord.columns) FROM profiles WHERE application_id = ? AND profile_id = ?")
  private lazy var selectProfileIDs = statement(Self.profileIDs)
  private lazy var selectEvaluation = statement(
    "SELECT \(EvaluationRecord.columns) FROM evaluations WHERE expires_at = ? AND id = ?")
  private lazy var selectToken = statement("SELECT \(TokenRecord.columns) FROM tokens WHERE expires_at = ? AND id = ?")
  private lazy var selectTicket = statement("SELECT 1 FROM used_tickets WHERE expires_at = ? AND id = ?")
  private lazy var selectSweptBefore = statement("SELECT swept_before FROM sweep_mark")

  func binding(id: String) throws(SQLiteError) -> BindingRecord? {
    try selectBinding.bind(id).first(BindingRecord.init)
  }

  /// The active binding of a device, whatever its profile.
  func activeBinding(applicationID: String, deviceID: String) throws(SQLiteError) -> BindingRecord? {
    try selectBindingOfDevice.bind(applicationID).bind(deviceID).first(BindingRecord.init)
  }

  /// The active binding of a ProfileTouchID, whatever its profile (R30).
  func activeBinding(applicationID: String, profileTouchID digest: [UInt8]) throws(SQLiteError) -> BindingRecord? {
    try selectBindingOfProfileTouchID.bind(applicationID).bind(digest).first(BindingRecord.init)
  }

  func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int
  ) throws(SQLiteError) -> [BindingRecord] {
    let select = includingRevoked ? selectPage : selectActivePage
    select.bind(applicationID).bind(profileID).bind(after ?? "").bind(limit)
    defer { select.reset() }
    var bindings: [BindingRecord] = []
    while var row = try select.next() { bindings.append(try BindingRecord(&row)) }
    return bindings
  }

  func profileIDs(applicationID: String, from start: String, limit: Int) throws(SQLiteError) -> [String] {
    selectProfileIDs.bind(applicationID).bind(start).bind(limit)
    defer { selectProfileIDs.reset() }
    var ids: [String] = []
    while var row = try selectProfileIDs.next() { ids.append(row.text()) }
    return ids
  }

  func activeBindingCount(applicationID: String, profileID: String) throws(SQLiteError) -> Int {
    try countActiveBindings.bind(applicationID).bind(profileID).first { row in Int(row.integer()) } ?? 0
  }

  /// Returns the receipt of a binding's App Attest key; empty if it has none.
  func receipt(ofBinding id: String) throws(SQLiteError) -> [UInt8] {
    try selectReceipt.bind(id).first { row in row.blob() } ?? []
  }

  /// Returns the vendor's own record; if it has none, the one that it inherits.
  func device(id: String, vendor: Vendor) throws(SQLiteError) -> DeviceRecord? {
    let own = try selectDevice.bind(vendor.storedID(ofDevice: id)).first { row in DeviceRecord(&row) }
    guard own == nil, vendor != .everybody else { return own }
    return try selectDevice.bind(id).first { row in DeviceRecord(&row) }?.inherited(by: vendor)
  }

  func profile(applicationID: String, profileID: String) throws(SQLiteError) -> ProfileRecord? {
    guard profileID.utf8.first != ProfileRecord.erasureMarkPrefix else {
      return try selectErasureMark.bind(applicationID).bind(profileID).first { row in
        ProfileRecord(applicationID: applicationID, profileID: profileID, version: row.version())
      }
    }
    return try selectProfile.bind(applicationID).bind(profileID).first(ProfileRecord.init)
  }

  func holderRecords(applicationID: String, profileID: String) throws(SQLiteError) -> HolderRecords {
    func profile(_ id: String) throws(SQLiteError) -> ProfileRecord {
      try self.profile(applicationID: applicationID, profileID: id)
        ?? ProfileRecord(applicationID: applicationID, profileID: id)
    }
    return HolderRecords(
      profile: try profile(profileID),
      erasureMark: try profile(ProfileRecord.erasureMarkID(forProfile: profileID)))
  }

  /// Finished if it may have been swept.
  func evaluation(_ key: ExpiringKey) throws(SQLiteError) -> EvaluationRecord? {
    let evaluation = try selectEvaluation.bind(key).first { row in EvaluationRecord(key: key, &row) }
    guard try isSwept(key) else { return evaluation }
    return .swept(key)
  }

  /// Revoked if it may have been swept.
  func token(_ key: ExpiringKey) throws(SQLiteError) -> TokenRecord? {
    let token = try selectToken.bind(key)
      .first { row throws(SQLiteError) in try TokenRecord(key: key, &row) }
    guard try isSwept(key) else { return token }
    return .swept(key)
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

  /// Call it after reading the row: a sweep that comes in between moves the mark, too.
  private func isSwept(_ key: ExpiringKey) throws(SQLiteError) -> Bool {
    try key.expiresAt < sweptBefore()
  }
}

extension Statement {
  func bind(_ key: ExpiringKey) -> Statement {
    bind(key.expiresAt).bind(key.id)
  }
}

extension Row {
  mutating func key() throws(SQLiteError) -> ExpiringKey {
    let expiresAt = time()
    return ExpiringKey(expiresAt: expiresAt, id: try value(UniqueID(bytes: blob()), "id"))
  }
}

extension BindingRecord {
  /// Has its columns.
  static let joined = """
    bindings LEFT JOIN binding_uses ON binding_uses.binding_number = number
    LEFT JOIN binding_postures ON binding_postures.binding_number = number
    """
}
