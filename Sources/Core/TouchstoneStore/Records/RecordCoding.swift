// Records as rows: their columns, what is written into them, and how it is read back; the same in every store.
//
// A record's version is not among what `bind` takes: a store writes it as the last column, or compares it.

public import TouchstonePolicy

extension BindingRecord {
  /// The columns that `bind` writes. A store writes last use, posture and counter in other ways.
  package static let boundColumns = Columns([
    "binding_id", "application_id", "profile_id", "device_id", "device_name", "biometry_type", "hardware_keys",
    "profile_touch_id", "app_attest", "is_revoked", "baseline", "baseline_os_major", "platform_family",
    "device_lock_count",
    "created_at",
  ])
  package static let columns = boundColumns + ["last_used_at", "posture", "proof_counter", "version"]

  @inlinable
  public init<Row: ColumnReader>(_ row: inout Row) throws(Row.Failure) {
    self.init(
      bindingID: row.text(), applicationID: row.text(), profileID: row.text(), deviceID: row.text(),
      deviceName: row.text(), biometryType: try row.choice("biometry_type"),
      credential: try row.value(
        CredentialRecord(hardwareKeys: row.optionalBlob(), profileTouchID: row.optionalBlob()), "hardware_keys"),
      appAttest: try AppAttestRecord(optional: &row),
      isRevoked: row.boolean(),
      baseline: DomainStateBaseline(domainState: row.optionalBlob(), osMajorVersion: row.optionalInteger()),
      platformFamily: try row.optionalChoice("platform_family"), deviceLockCount: row.version(),
      createdAt: row.time(), lastUsedAt: row.optionalTime(), lastSeen: try SeenPosture(optional: &row),
      proofCounter: row.count(), version: row.version())
  }
}

extension AppAttestRecord {
  /// `nil`: NULL.
  @inlinable
  public init?<Row: ColumnReader>(optional row: inout Row) throws(Row.Failure) {
    guard let bytes = row.optionalBlob() else { return nil }
    self = try row.value(AppAttestRecord(encoded: bytes), "app_attest")
  }
}

extension SeenPosture {
  /// `nil`: NULL.
  @inlinable
  public init?<Row: ColumnReader>(optional row: inout Row) throws(Row.Failure) {
    guard let bytes = row.optionalBlob() else { return nil }
    self = try row.value(SeenPosture(encoded: bytes), "posture")
  }
}

extension DeviceRecord {
  package static let boundColumns = Columns(["device_id", "failures", "is_locked_out", "lock_count"])
  package static let columns = Columns(["device_id", "failures", "is_locked_out", "lock_count", "version"])

  @inlinable
  public init(_ row: inout some ColumnReader) {
    let (vendor, deviceID) = Vendor.parsing(storedID: row.text())
    self.init(
      deviceID: deviceID, vendor: vendor,
      biometry: BiometryStanding(consecutiveFailures: row.count(), isLockedOut: row.boolean()),
      lockCount: row.version(), version: row.version())
  }
}

extension ProfileRecord {
  package static let boundColumns =
    Columns([
      "application_id", "profile_id", "is_biometry_enabled", "is_gesture_enabled", "is_passcode_enabled", "preferred",
      "settings_updated_at",
    ]) + SecretRecord.columns(of: "passcode") + SecretRecord.columns(of: "gesture") + ["incarnation"]
  package static let columns = boundColumns + ["version"]

  @inlinable
  public init<Row: ColumnReader>(_ row: inout Row) throws(Row.Failure) {
    self.init(
      applicationID: row.text(), profileID: row.text(), settings: try UnlockSettings(&row),
      passcode: SecretRecord(&row), gesture: SecretRecord(&row), incarnation: row.version(), version: row.version())
  }
}

extension UnlockSettings {
  @inlinable
  public init<Row: ColumnReader>(_ row: inout Row) throws(Row.Failure) {
    self.init(
      isBiometryEnabled: row.boolean(), isGestureEnabled: row.boolean(), isPasscodeEnabled: row.boolean())
    preferred = try row.optionalChoice("preferred")
    updatedAt = row.optionalTime()
  }
}

/// A secret stands in its profile's row: its columns begin with its name, and are all NULL if there is none.
extension SecretRecord {
  public static let columns = [
    "verifier", "set_at", "is_set", "failures", "locked_until", "is_locked_until_set_anew", "in_flight",
    "in_flight_until", "generation",
  ]

  package static func columns(of secret: String) -> [String] { columns.map { "\(secret)_\($0)" } }

  @inlinable
  public init?(_ row: inout some ColumnReader) {
    guard !row.isNull else {
      row.skip(Self.columns.count)
      return nil
    }
    let verifier = row.blob()
    let setAt = row.time()
    self.init(verifier: verifier, standing: SecretStanding(&row), setAt: setAt)
  }
}

extension SecretStanding {
  @inlinable
  public init(_ row: inout some ColumnReader) {
    self.init(isSet: row.boolean(), failures: row.count())
    let lockedUntil = row.optionalTime()
    lock = row.boolean() ? .untilSetAnew : lockedUntil.map { .until($0) } ?? .none
    inFlight = row.count()
    inFlightUntil = row.time()
    generation = row.version()
  }
}

extension EvaluationRecord {
  /// After its key, as for a token.
  package static let columns = Columns(["failures", "device_owner_failures", "is_finished", "version"])

  @inlinable
  public init(key: ExpiringKey, _ row: inout some ColumnReader) {
    self.init(
      key: key,
      standing: EvaluationStanding(
        failures: row.count(), deviceOwnerFailures: row.count(), isFinished: row.boolean()), version: row.version())
  }

  /// Returns the record of an evaluation that may have been swept: it counts as finished.
  package static func swept(_ key: ExpiringKey) -> EvaluationRecord {
    EvaluationRecord(key: key, standing: EvaluationStanding(isFinished: true))
  }
}

extension TokenRecord {
  /// Returns the record of a token that may have been swept: it counts as revoked.
  package static func swept(_ key: ExpiringKey) -> TokenRecord {
    TokenRecord(key: key, state: .revoked, transaction: [], version: 0)
  }

  package static let columns = Columns(["state", "approved_transaction", "version"])

  @inlinable
  public init<Row: ColumnReader>(key: ExpiringKey, _ row: inout Row) throws(Row.Failure) {
    self.init(key: key, state: try row.choice("state"), transaction: row.blob(), version: row.version())
  }
}

extension EventDraft {
  /// With the salt in front.
  package static let columns = Columns([
    "salt", "time", "kind", "application_id", "profile_id", "device_id", "binding_id", "caller", "details",
  ])

  @inlinable
  public init<Row: ColumnReader>(_ row: inout Row) throws(Row.Failure) {
    self.init(
      time: row.time(), kind: row.text(), applicationID: row.text(), profileID: row.text(), deviceID: row.text(),
      bindingID: row.text(), caller: row.text(), details: try row.value([EventDetail](encoded: row.blob()), "details"))
  }
}

extension EventRecord {
  /// All but the first three are NULL if the event is erased; the digest is NULL if it is not, because it follows from
  /// the rest.
  package static let columns = Columns(["sequence", "hash", "digest"] + EventDraft.columns.names)

  @inlinable
  public init<Row: ColumnReader>(_ row: inout Row) throws(Row.Failure) {
    self.init(sequence: row.version(), content: .erased(digest: []), hash: row.blob())
    if let digest = row.optionalBlob() {
      content = .erased(digest: digest)
    } else {
      let salt = try row.value(UniqueID(bytes: row.blob()), "salt")
      content = .whole(try EventDraft(&row), salt: salt)
    }
  }
}

extension EventRecord {
  /// Halves the kept log until no event is between `older`, which is before the time, and `newer`. Erased events, which
  /// have no time, count like the next event that has one. Its parameter is the time; it answers `Store.eventPlace`.
  package static let placeQuery = """
    WITH RECURSIVE search (older, newer) AS (
      SELECT (SELECT sequence FROM event_archive), (SELECT sequence + 1 FROM event_chain)
      UNION ALL
      SELECT CASE WHEN \(middleTime) < $1 THEN \(middle) ELSE older END,
        CASE WHEN \(middleTime) < $1 THEN newer ELSE \(middle) END
      FROM search WHERE newer - older > 1)
    SELECT max(older) FROM search
    """
  private static let middle = "(older + newer) / 2"
  private static let middleTime = """
    (SELECT time FROM events WHERE sequence >= \(middle) AND sequence < newer AND time IS NOT NULL
      ORDER BY sequence LIMIT 1)
    """
}

extension EventChain.Head {
  @inlinable
  public init(_ row: inout some ColumnReader) {
    self.init(sequence: row.version(), hash: row.blob())
  }
}

extension ColumnWriter {
  @inlinable
  public consuming func bind(_ binding: BindingRecord) -> Self {
    let credential: (keys: [UInt8]?, digest: [UInt8]?) =
      switch binding.credential {
      case .hardwareKeys(let keys): (keys.encoded, nil)
      case .profileTouchID(let digest): (nil, digest)
      case .passkey(let passkey): (passkey.encoded, passkey.digest)
      }
    return bind(binding.bindingID).bind(binding.applicationID).bind(binding.profileID).bind(binding.deviceID)
      .bind(binding.deviceName).bind(binding.biometryType.rawValue).bind(credential.keys).bind(credential.digest)
      .bind(binding.appAttest?.encoded)
      .bind(binding.isRevoked).bind(binding.baseline?.domainState).bind(binding.baseline?.osMajorVersion)
      .bind(binding.platformFamily?.rawValue).bind(binding.deviceLockCount).bind(binding.createdAt)
  }

  @inlinable
  public consuming func bind(_ device: DeviceRecord) -> Self {
    bind(device.storedID).bind(device.biometry.consecutiveFailures).bind(device.biometry.isLockedOut)
      .bind(device.lockCount)
  }

  @inlinable
  public consuming func bind(_ profile: ProfileRecord) -> Self {
    let settings = profile.settings
    return bind(profile.applicationID).bind(profile.profileID).bind(settings.isBiometryEnabled)
      .bind(settings.isGestureEnabled).bind(settings.isPasscodeEnabled).bind(settings.preferred?.rawValue)
      .bind(settings.updatedAt).bind(profile.passcode).bind(profile.gesture).bind(profile.incarnation)
  }

  @inlinable
  public consuming func bind(_ secret: SecretRecord?) -> Self {
    guard let secret else { return SecretRecord.columns.reduce(self) { writer, _ in writer.bindNull() } }
    let standing = secret.standing
    let lock: (until: UnixTime?, isUntilSetAnew: Bool) =
      switch standing.lock {
      case .none: (nil, false)
      case .until(let time): (time, false)
      case .untilSetAnew: (nil, true)
      }
    return bind(secret.verifier).bind(secret.setAt).bind(standing.isSet).bind(standing.failures)
      .bind(lock.until).bind(lock.isUntilSetAnew).bind(standing.inFlight).bind(standing.inFlightUntil)
      .bind(standing.generation)
  }

  @inlinable
  public consuming func bind(_ standing: EvaluationStanding) -> Self {
    bind(standing.failures).bind(standing.deviceOwnerFailures).bind(standing.isFinished)
  }

  /// Without its key.
  @inlinable
  public consuming func bind(_ token: TokenRecord) -> Self {
    bind(token.state.rawValue).bind(token.transaction)
  }

  @inlinable
  public consuming func bind(_ event: EventDraft, salt: UniqueID) -> Self {
    bind(salt).bind(event.time).bind(event.kind).bind(event.applicationID).bind(event.profileID)
      .bind(event.deviceID).bind(event.bindingID).bind(event.caller).bind(event.details.encoded)
  }
}
