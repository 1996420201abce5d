// Queries about records: each takes one round trip, on any connection that has room.

internal import TouchstonePolicy
internal import TouchstoneStore

enum RecordQueries {
  static func attempt(ofProfile profileID: String, in applicationID: String, evaluation: ExpiringKey?) -> StatementCall
  {
    StatementCall(.attemptOfProfile).bind(applicationID).bind(profileID).bind(evaluation)
  }

  static func attempt(
    ofProfileTouchID digest: [UInt8], in applicationID: String, _ vendor: Vendor, evaluation: ExpiringKey?
  ) -> StatementCall {
    StatementCall(.attemptOfProfileTouchID).bind(applicationID).bind(digest).bind(vendor.storedPrefix).bind(evaluation)
  }

  static func attemptRecords(
    of subject: AttemptSubject, _ vendor: Vendor, evaluation: ExpiringKey?, _ row: inout Row
  ) throws(PostgresError) -> AttemptRecords {
    var binding: BindingRecord?
    var device: DeviceRecord?
    switch subject {
    case .binding, .profileTouchID:
      binding = try row.present(BindingRecord.columns.count) { row throws(PostgresError) in try BindingRecord(&row) }
      device = try row.present(DeviceRecord.columns.count) { row in DeviceRecord(&row).known(to: vendor) }
    case .profile: break
    }
    let profile = try row.present(ProfileRecord.columns.count) { row throws(PostgresError) in
      try ProfileRecord(&row)
    }
    let stored = storedEvaluation(evaluation, &row)
    return AttemptRecords(
      binding: binding, device: device ?? subject.newDevice(of: binding, vendor: vendor),
      profile: profile ?? subject.newProfile(of: binding), evaluation: stored)
  }

  /// The mark comes last, because a copy of the row reads it first.
  private static func storedEvaluation(_ key: ExpiringKey?, _ row: inout Row) -> EvaluationRecord? {
    guard let key else { return nil }
    var rest = row
    rest.skip(EvaluationRecord.columns.count)
    return EvaluationRecord(key: key, &row, sweptBefore: rest.time())
  }

  static func device(id: String, vendor: Vendor) -> StatementCall {
    StatementCall(.selectDevice).bind(vendor.storedID(ofDevice: id)).bind(id)
  }

  static func holder(applicationID: String, profileID: String) -> [StatementCall] {
    [profileID, ProfileRecord.erasureMarkID(forProfile: profileID)].map { id in
      StatementCall(.selectProfile).bind(applicationID).bind(id)
    }
  }

  /// - Parameter results: begin with those of `holder`.
  static func holderRecords(
    applicationID: String, profileID: String, _ results: [QueryResult]
  ) throws(PostgresError) -> HolderRecords {
    func profile(_ id: String, _ result: QueryResult) throws(PostgresError) -> ProfileRecord {
      try result.map { row throws(PostgresError) in try ProfileRecord(&row) }.first
        ?? ProfileRecord(applicationID: applicationID, profileID: id)
    }
    return HolderRecords(
      profile: try profile(profileID, results[0]),
      erasureMark: try profile(ProfileRecord.erasureMarkID(forProfile: profileID), results[1]))
  }

  static func enrolment(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey
  ) -> [StatementCall] {
    holder(applicationID: applicationID, profileID: profileID) + [
      StatementCall(.selectActiveBinding).bind(applicationID).bind(deviceID),
      StatementCall(.countActiveBindings).bind(applicationID).bind(profileID),
      StatementCall(.selectTicket).bind(ticket),
      device(id: deviceID, vendor: vendor),
    ]
  }

  static func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    _ results: [QueryResult]
  ) throws(PostgresError) -> EnrolmentRecords {
    let bindings = try results[2].map { row throws(PostgresError) in try BindingRecord(&row) }
    let devices = try results[5].map { row in DeviceRecord(&row).known(to: vendor) }
    return EnrolmentRecords(
      holder: try holderRecords(applicationID: applicationID, profileID: profileID, results),
      device: devices.first ?? DeviceRecord(deviceID: deviceID, vendor: vendor), deviceBinding: bindings.first,
      activeBindingCount: try results[3].only { row in Int(row.integer()) },
      isTicketUsed: try results[4].only { row in
        let isSwept = ticket.expiresAt < row.time()
        return row.boolean() || isSwept
      })
  }

  static func token(_ key: ExpiringKey, _ row: inout Row) throws(PostgresError) -> TokenRecord? {
    if key.expiresAt < row.time() { return .swept(key) }
    return row.isNull ? nil : try TokenRecord(key: key, &row)
  }
}

extension DeviceRecord {
  /// If the record is shared by all vendors, this vendor has none of its own.
  func known(to vendor: Vendor) -> DeviceRecord {
    self.vendor == vendor ? self : inherited(by: vendor)
  }
}

extension StatementCall {
  /// Three columns, NULL without a key.
  consuming func bind(_ key: ExpiringKey?) -> StatementCall {
    if let key { bind(key) } else { bindNull().bindNull().bindNull() }
  }
}

extension Row {
  /// `nil` if the record's first column is NULL, because the joined row has no partner.
  fileprivate mutating func present<Record>(
    _ columnCount: Int, _ read: (inout Row) throws(PostgresError) -> Record
  ) throws(PostgresError) -> Record? {
    guard isNull else { return try read(&self) }
    skip(columnCount)
    return nil
  }
}

extension UniqueID {
  /// Tables whose rows come and go by time have it in front of their keys: what is written at the same time lies in so
  /// many places.
  static let spreadCount: Int16 = 16

  var spread: Int16 { Int16(low % UInt64(Self.spreadCount)) }
}

extension ExpiringKey {
  /// The order in which transactions insert them, so that no two wait for each other.
  static func < (left: ExpiringKey, right: ExpiringKey) -> Bool {
    (left.expiresAt, left.id.high, left.id.low) < (right.expiresAt, right.id.high, right.id.low)
  }
}

extension StatementCall {
  /// Three columns.
  consuming func bind(_ key: ExpiringKey) -> StatementCall {
    bind(key.id.spread).bind(key.expiresAt).bind(key.id)
  }

  /// With its last use, its posture and its counter.
  consuming func bind(whole binding: BindingRecord) -> StatementCall {
    bind(binding).bind(binding.lastUsedAt).bind(binding.lastSeen?.encoded).bind(binding.proofCounter)
  }
}

extension EvaluationRecord {
  /// Finished, where it may have been swept; `nil` where there is no row.
  init?(key: ExpiringKey, _ row: inout Row, sweptBefore: UnixTime) {
    let isSwept = key.expiresAt < sweptBefore
    guard !isSwept, !row.isNull else {
      row.skip(Self.columns.count)
      guard isSwept else { return nil }
      self = .swept(key)
      return
    }
    self.init(key: key, &row)
  }
}
