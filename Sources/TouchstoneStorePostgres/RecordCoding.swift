// Columns ⇄ records.

internal import TouchstonePolicy
internal import TouchstoneStore

extension UniqueID {
  /// Tables whose rows come and go by time have it in front of their keys: what is written at the same time lies in so
  /// many places.
  static let spreadCount: Int16 = 16

  var spread: Int16 { Int16(low % UInt64(Self.spreadCount)) }
}

extension StatementCall {
  /// Three columns.
  consuming func bind(_ key: ExpiringKey) -> StatementCall {
    bind(key.id.spread).bind(key.expiresAt).bind(key.id.bytes)
  }
}

extension Row {
  fileprivate mutating func posture() throws(PostgresError) -> SeenPosture? {
    guard let bytes = optionalBlob() else { return nil }
    return try value(SeenPosture(encoded: bytes), "last_posture")
  }

  fileprivate mutating func platformFamily() throws(PostgresError) -> PlatformFamily? {
    guard let raw = optionalInteger() else { return nil }
    return try value(PlatformFamily(rawValue: UInt8(truncatingIfNeeded: raw)), "platform_family")
  }
}

extension BindingRecord {
  static let columns = """
    binding_id, application_id, profile_id, device_id, device_name, biometry_type, hardware_keys, profile_touch_id,
    is_revoked, baseline, baseline_os_major, platform_family, device_lock_count, created_at, last_used_at,
    last_posture, version
    """
  static let columnCount = 17

  init(_ row: inout Row) throws(PostgresError) {
    self.init(
      bindingID: row.text(), applicationID: row.text(), profileID: row.text(), deviceID: row.text(),
      deviceName: row.text(),
      biometryType: try row.value(BiometryType(rawValue: UInt8(truncatingIfNeeded: row.integer())), "biometry_type"),
      credential: try row.value(
        CredentialRecord(hardwareKeys: row.optionalBlob(), profileTouchID: row.optionalBlob()), "hardware_keys"),
      isRevoked: row.boolean(),
      baseline: DomainStateBaseline(domainState: row.optionalBlob(), osMajorVersion: row.optionalInteger()),
      platformFamily: try row.platformFamily(), deviceLockCount: row.version(), createdAt: row.time(),
      lastUsedAt: row.optionalTime(), lastSeen: try row.posture(),
      version: row.version())
  }
}

extension DomainStateBaseline {
  fileprivate init?(domainState: [UInt8]?, osMajorVersion: Int64?) {
    guard let domainState, let osMajorVersion else { return nil }
    self.init(domainState: domainState, osMajorVersion: UInt32(truncatingIfNeeded: osMajorVersion))
  }
}

extension CredentialRecord {
  /// Exactly one of the two columns is set.
  fileprivate init?(hardwareKeys: [UInt8]?, profileTouchID: [UInt8]?) {
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
  static let columnCount = 5

  init(_ row: inout Row) {
    let (vendor, deviceID) = Vendor.parsing(storedID: row.text())
    self.init(
      deviceID: deviceID, vendor: vendor,
      biometry: BiometryStanding(consecutiveFailures: row.count(), isLockedOut: row.boolean()),
      lockCount: row.version(), version: row.version())
  }
}

extension ProfileRecord {
  static let columns = """
    application_id, profile_id, is_biometry_enabled, is_gesture_enabled, is_passcode_enabled, preferred,
    settings_updated_at, \(SecretRecord.columnNames(of: "passcode")), \(SecretRecord.columnNames(of: "gesture")),
    created_at, version
    """
  static let columnCount = 9 + 2 * SecretRecord.columns.count

  init(_ row: inout Row) throws(PostgresError) {
    self.init(
      applicationID: row.text(), profileID: row.text(), settings: try UnlockSettings(&row),
      passcode: SecretRecord(&row), gesture: SecretRecord(&row), createdAt: row.time(), version: row.version())
  }
}

extension UnlockSettings {
  fileprivate init(_ row: inout Row) throws(PostgresError) {
    self.init(
      isBiometryEnabled: row.boolean(), isGestureEnabled: row.boolean(), isPasscodeEnabled: row.boolean())
    if let preferred = row.optionalInteger() {
      self.preferred = try row.value(Factor(rawValue: UInt8(truncatingIfNeeded: preferred)), "preferred")
    }
    updatedAt = row.optionalTime()
  }
}

/// A secret stands in its profile's row: its columns begin with its name, and are all NULL where there is none.
extension SecretRecord {
  static let columns: [(name: String, type: String)] = [
    ("verifier", "BYTEA"), ("set_at", "BIGINT"), ("is_set", "BOOLEAN"), ("failures", "BIGINT"),
    ("locked_until", "BIGINT"), ("is_locked_until_set_anew", "BOOLEAN"), ("in_flight", "BIGINT"),
    ("in_flight_until", "BIGINT"), ("generation", "BIGINT"),
  ]

  static func columnNames(of secret: String) -> String {
    columns.map { "\(secret)_\($0.name)" }.joined(separator: ", ")
  }

  fileprivate init?(_ row: inout Row) {
    let verifier = row.optionalBlob()
    let setAt = row.time()
    let standing = SecretStanding(&row)
    guard let verifier else { return nil }
    self.init(verifier: verifier, standing: standing, setAt: setAt)
  }
}

extension SecretStanding {
  fileprivate init(_ row: inout Row) {
    self.init(isSet: row.boolean(), failures: row.count())
    let lockedUntil = row.optionalTime()
    lock = row.boolean() ? .untilSetAnew : lockedUntil.map { .until($0) } ?? .none
    inFlight = row.count()
    inFlightUntil = row.time()
    generation = row.version()
  }
}

extension StatementCall {
  fileprivate consuming func bind(_ secret: SecretRecord?) -> StatementCall {
    guard let secret else { return SecretRecord.columns.reduce(self) { call, _ in call.bindNull() } }
    let standing = secret.standing
    let lock: (until: Int64?, isUntilSetAnew: Bool) =
      switch standing.lock {
      case .none: (nil, false)
      case .until(let time): (time.microseconds, false)
      case .untilSetAnew: (nil, true)
      }
    return bind(secret.verifier).bind(secret.setAt).bind(standing.isSet).bind(standing.failures)
      .bind(lock.until).bind(lock.isUntilSetAnew).bind(standing.inFlight).bind(standing.inFlightUntil)
      .bind(standing.generation)
  }

  /// All but the version.
  consuming func bind(_ binding: BindingRecord) -> StatementCall {
    let credential: (keys: [UInt8]?, digest: [UInt8]?) =
      switch binding.credential {
      case .hardwareKeys(let keys): (keys.encoded, nil)
      case .profileTouchID(let digest): (nil, digest)
      }
    return bind(binding.bindingID).bind(binding.applicationID).bind(binding.profileID).bind(binding.deviceID)
      .bind(binding.deviceName).bind(binding.biometryType.rawValue).bind(credential.keys).bind(credential.digest)
      .bind(binding.isRevoked).bind(binding.baseline?.domainState)
      .bind((binding.baseline?.osMajorVersion).map { Int64($0) })
      .bind((binding.platformFamily?.rawValue).map { Int64($0) }).bind(binding.deviceLockCount).bind(binding.createdAt)
      .bind(binding.lastUsedAt?.microseconds).bind(binding.lastSeen?.encoded)
  }

  /// All but the version.
  ///
  /// - Parameter now: from which a stand-in's time counts.
  consuming func bind(_ device: DeviceRecord, writtenAt now: UnixTime) -> StatementCall {
    bind(device, standInUntil: device.standInEnd(writtenAt: now))
  }

  /// All but the version.
  consuming func bind(_ device: DeviceRecord, standInUntil: UnixTime?) -> StatementCall {
    bind(device.storedID).bind(device.biometry.consecutiveFailures).bind(device.biometry.isLockedOut)
      .bind(standInUntil?.microseconds).bind(device.lockCount)
  }

  /// All but the version.
  ///
  /// - Parameter now: from which a stand-in's time counts.
  consuming func bind(_ profile: ProfileRecord, writtenAt now: UnixTime) -> StatementCall {
    bind(profile, standInUntil: profile.standInEnd(writtenAt: now))
  }

  /// All but the version.
  consuming func bind(_ profile: ProfileRecord, standInUntil: UnixTime?) -> StatementCall {
    let settings = profile.settings
    return bind(profile.applicationID).bind(profile.profileID).bind(settings.isBiometryEnabled)
      .bind(settings.isGestureEnabled).bind(settings.isPasscodeEnabled)
      .bind(settings.preferred.map { Int64($0.rawValue) }).bind(settings.updatedAt?.microseconds)
      .bind(profile.passcode).bind(profile.gesture).bind(profile.createdAt).bind(standInUntil?.microseconds)
  }
}

extension EvaluationRecord {
  static let columns = "failures, device_owner_failures, is_finished, version"
  static let columnCount = 4

  /// Finished, where it may have been swept; `nil` where there is no row.
  init?(key: ExpiringKey, _ row: inout Row, sweptBefore: UnixTime) {
    guard key.expiresAt >= sweptBefore else {
      row.skip(Self.columnCount)
      self.init(key: key, standing: EvaluationStanding(isFinished: true))
      return
    }
    guard !row.isNull else {
      row.skip(Self.columnCount)
      return nil
    }
    self.init(
      key: key,
      standing: EvaluationStanding(
        failures: row.count(), deviceOwnerFailures: row.count(), isFinished: row.boolean()),
      version: row.version())
  }
}

extension TokenRecord {
  static let columns = "state, approved_transaction, version"

  init(key: ExpiringKey, _ row: inout Row) throws(PostgresError) {
    self.init(
      key: key, state: try row.value(State(rawValue: UInt8(truncatingIfNeeded: row.integer())), "state"),
      transaction: row.blob(), version: row.version())
  }

  /// Where it may have been swept.
  static func swept(_ key: ExpiringKey) -> TokenRecord {
    TokenRecord(key: key, state: .revoked, transaction: [], version: 0)
  }
}
