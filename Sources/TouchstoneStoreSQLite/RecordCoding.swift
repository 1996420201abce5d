// Columns ⇄ records.

internal import TouchstonePolicy
internal import TouchstoneStore

extension UnixTime {
  init(_ column: Int64) {
    self.init(microseconds: column)
  }
}

extension Statement {
  @discardableResult
  func bind(_ time: UnixTime) -> Statement {
    bind(time.microseconds)
  }

  @discardableResult
  func bind(_ key: ExpiringKey) -> Statement {
    bind(key.expiresAt).bind(key.id)
  }

  /// 16 bytes, big-endian.
  @discardableResult
  func bind(_ id: UniqueID) -> Statement {
    withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { bind($0) }
  }
}

extension Row {
  mutating func time() -> UnixTime {
    UnixTime(integer())
  }

  mutating func version() -> RecordVersion {
    RecordVersion(truncatingIfNeeded: integer())
  }

  mutating func key() throws(SQLiteError) -> ExpiringKey {
    let expiresAt = time()
    return ExpiringKey(expiresAt: expiresAt, id: try value(UniqueID(bytes: blob()), "id"))
  }

  fileprivate mutating func posture() throws(SQLiteError) -> SeenPosture? {
    guard let bytes = optionalBlob() else { return nil }
    return try value(SeenPosture(encoded: bytes), "posture")
  }

  fileprivate mutating func platformFamily() throws(SQLiteError) -> PlatformFamily? {
    guard let raw = optionalInteger() else { return nil }
    return try value(PlatformFamily(rawValue: UInt8(truncatingIfNeeded: raw)), "platform_family")
  }

  /// `nil`: what stands in the column was never written by us.
  func value<Value>(_ value: Value?, _ column: String) throws(SQLiteError) -> Value {
    guard let value else { throw SQLiteError(code: .corrupt, message: "unreadable column \(column)") }
    return value
  }
}

extension BindingRecord {
  /// In the order of `init(_:)`; `joined` has them.
  static let columns = """
    binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys, profile_touch_id,
    is_revoked, baseline, baseline_os_major, platform_family, device_lock_count, created_at, last_used_at, posture,
    version
    """
  static let joined = """
    bindings LEFT JOIN binding_uses ON binding_uses.binding_number = number
    LEFT JOIN binding_postures ON binding_postures.binding_number = number
    """

  init(_ row: inout Row) throws(SQLiteError) {
    self.init(
      bindingID: row.text(), applicationID: row.text(), profileID: row.text(), deviceID: row.text(),
      deviceName: row.text(),
      biometryType: try row.value(BiometryType(rawValue: UInt8(truncatingIfNeeded: row.integer())), "biometry_type"),
      credential: try row.value(
        CredentialRecord(hardwareKeys: row.optionalBlob(), profileTouchID: row.optionalBlob()), "hardware_keys"),
      isRevoked: row.boolean(),
      baseline: DomainStateBaseline(domainState: row.optionalBlob(), osMajorVersion: row.optionalInteger()),
      platformFamily: try row.platformFamily(), deviceLockCount: row.version(), createdAt: row.time(),
      lastUsedAt: row.optionalInteger().map { UnixTime($0) }, lastSeen: try row.posture(), version: row.version())
  }
}

extension DomainStateBaseline {
  init?(domainState: [UInt8]?, osMajorVersion: Int64?) {
    guard let domainState, let osMajorVersion else { return nil }
    self.init(domainState: domainState, osMajorVersion: UInt32(truncatingIfNeeded: osMajorVersion))
  }
}

extension CredentialRecord {
  /// Exactly one of the two columns is set.
  init?(hardwareKeys: [UInt8]?, profileTouchID: [UInt8]?) {
    if let profileTouchID {
      self = .profileTouchID(digest: profileTouchID)
    } else if let hardwareKeys, let keys = [HardwareKeyRecord](encoded: hardwareKeys) {
      self = .hardwareKeys(keys)
    } else {
      return nil
    }
  }
}

extension DeviceRecord {
  static let columns = "device_id, failures, is_locked_out, lock_count, version"

  init(_ row: inout Row) {
    let (vendor, deviceID) = Vendor.parsing(storedID: row.text())
    self.init(
      deviceID: deviceID, vendor: vendor,
      biometry: BiometryStanding(
        consecutiveFailures: UInt32(truncatingIfNeeded: row.integer()), isLockedOut: row.boolean()),
      lockCount: row.version(), version: row.version())
  }
}

extension ProfileRecord {
  static let columns = """
    application_id, profile_id, is_biometry_enabled, is_gesture_enabled, is_passcode_enabled, preferred,
    settings_updated_at, \(SecretRecord.columnNames(of: "passcode")), \(SecretRecord.columnNames(of: "gesture")),
    created_at, version
    """

  init(_ row: inout Row) throws(SQLiteError) {
    self.init(
      applicationID: row.text(), profileID: row.text(), settings: try UnlockSettings(&row),
      passcode: SecretRecord(&row), gesture: SecretRecord(&row), createdAt: row.time(),
      version: row.version())
  }
}

extension UnlockSettings {
  fileprivate init(_ row: inout Row) throws(SQLiteError) {
    self.init(
      isBiometryEnabled: row.boolean(), isGestureEnabled: row.boolean(), isPasscodeEnabled: row.boolean())
    if let preferred = row.optionalInteger() {
      self.preferred = try row.value(Factor(rawValue: UInt8(truncatingIfNeeded: preferred)), "preferred")
    }
    updatedAt = row.optionalInteger().map { UnixTime($0) }
  }
}

/// A secret stands in its profile's row: its columns begin with its name, and are all NULL where there is none.
extension SecretRecord {
  static let columns: [(name: String, type: String)] = [
    ("verifier", "BLOB"), ("set_at", "INTEGER"), ("is_set", "INTEGER"), ("failures", "INTEGER"),
    ("locked_until", "INTEGER"), ("is_locked_until_set_anew", "INTEGER"), ("in_flight", "INTEGER"),
    ("in_flight_until", "INTEGER"), ("generation", "INTEGER"),
  ]

  static func columnNames(of secret: String) -> String {
    columns.map { "\(secret)_\($0.name)" }.joined(separator: ", ")
  }

  init?(_ row: inout Row) {
    let verifier = row.optionalBlob()
    let setAt = row.time()
    let standing = SecretStanding(&row)
    guard let verifier else { return nil }
    self.init(verifier: verifier, standing: standing, setAt: setAt)
  }
}

extension SecretStanding {
  fileprivate init(_ row: inout Row) {
    self.init(isSet: row.boolean(), failures: UInt32(truncatingIfNeeded: row.integer()))
    let lockedUntil = row.optionalInteger().map { UnixTime($0) }
    lock = row.boolean() ? .untilSetAnew : lockedUntil.map { .until($0) } ?? .none
    inFlight = UInt32(truncatingIfNeeded: row.integer())
    inFlightUntil = row.time()
    generation = UInt64(truncatingIfNeeded: row.integer())
  }
}

extension Statement {
  @discardableResult
  func bind(_ secret: SecretRecord?) -> Statement {
    guard let secret else {
      for _ in SecretRecord.columns { bindNull() }
      return self
    }
    let standing = secret.standing
    bind(secret.verifier).bind(secret.setAt).bind(standing.isSet).bind(standing.failures)
    switch standing.lock {
    case .none: bindNull().bind(false)
    case .until(let time): bind(time).bind(false)
    case .untilSetAnew: bindNull().bind(true)
    }
    return bind(standing.inFlight).bind(standing.inFlightUntil).bind(standing.generation)
  }
}

extension EvaluationRecord {
  static let columns = "expires_at, id, failures, device_owner_failures, is_finished, version"

  init(_ row: inout Row) throws(SQLiteError) {
    self.init(
      key: try row.key(),
      standing: EvaluationStanding(
        failures: UInt32(truncatingIfNeeded: row.integer()),
        deviceOwnerFailures: UInt32(truncatingIfNeeded: row.integer()), isFinished: row.boolean()),
      version: row.version())
  }
}

extension TokenRecord {
  static let columns = "expires_at, id, state, approved_transaction, version"

  init(_ row: inout Row) throws(SQLiteError) {
    self.init(
      key: try row.key(),
      state: try row.value(State(rawValue: UInt8(truncatingIfNeeded: row.integer())), "state"),
      transaction: row.blob(), version: row.version())
  }
}

extension EventRecord {
  /// All but `sequence`, `digest` and `hash` are NULL where the event is erased; `digest` is NULL where it is not, since
  /// it follows from the rest.
  static let columns = """
    sequence, hash, digest, salt, time, kind, application_id, profile_id, device_id, binding_id, caller, details
    """

  init(_ row: inout Row) throws(SQLiteError) {
    self.init(
      sequence: UInt64(truncatingIfNeeded: row.integer()), content: .erased(digest: []), hash: row.blob())
    if let digest = row.optionalBlob() {
      content = .erased(digest: digest)
    } else {
      let salt = try row.value(UniqueID(bytes: row.blob()), "salt")
      let event = EventDraft(
        time: row.time(), kind: row.text(), applicationID: row.text(), profileID: row.text(), deviceID: row.text(),
        bindingID: row.text(), caller: row.text(),
        details: try row.value([EventDetail](encoded: row.blob()), "details"))
      content = .whole(event, salt: salt)
    }
  }
}
