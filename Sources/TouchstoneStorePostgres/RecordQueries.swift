// The questions a store is asked about its records: each one round trip, on whichever connection has room.

internal import TouchstonePolicy
internal import TouchstoneStore

enum RecordQueries {
  static func attempt(_ subject: AttemptSubject, _ vendor: Vendor, evaluation: ExpiringKey?) -> StatementCall {
    let call =
      switch subject {
      case .binding(let applicationID, let bindingID):
        StatementCall(.attemptOfBinding).bind(applicationID).bind(bindingID).bind(vendor.storedPrefix)
          .bind(DeviceRecord.standInID(forUnknownBinding: bindingID, applicationID: applicationID))
          .bind(ProfileRecord.standInID(forUnknownBinding: bindingID))
      case .profile(let applicationID, let profileID):
        StatementCall(.attemptOfProfile).bind(applicationID).bind(profileID)
      case .profileTouchID(let applicationID, let digest):
        StatementCall(.attemptOfProfileTouchID).bind(applicationID).bind(digest).bind(vendor.storedPrefix)
      }
    return if let evaluation { call.bind(evaluation) } else { call.bindNull().bindNull().bindNull() }
  }

  static func attemptRecords(
    of subject: AttemptSubject, _ vendor: Vendor, evaluation: ExpiringKey?, _ row: inout Row
  ) throws(PostgresError) -> AttemptRecords {
    var binding: BindingRecord?
    var device: DeviceRecord?
    switch subject {
    case .binding, .profileTouchID:
      binding = try row.present(BindingRecord.columnCount) { row throws(PostgresError) in try BindingRecord(&row) }
      device = try row.present(DeviceRecord.columnCount) { row in DeviceRecord(&row).known(to: vendor) }
    case .profile: break
    }
    let profile = try row.present(ProfileRecord.columnCount) { row throws(PostgresError) in try ProfileRecord(&row) }
    let stored = storedEvaluation(evaluation, &row)
    return AttemptRecords(
      binding: binding, device: device ?? missingDevice(of: subject, vendor, binding),
      profile: profile ?? missingProfile(of: subject, binding), evaluation: stored)
  }

  /// The mark comes last: a copy of the row reads it first.
  private static func storedEvaluation(_ key: ExpiringKey?, _ row: inout Row) -> EvaluationRecord? {
    guard let key else { return nil }
    var rest = row
    rest.skip(EvaluationRecord.columnCount)
    return EvaluationRecord(key: key, &row, sweptBefore: rest.time())
  }

  private static func missingDevice(
    of subject: AttemptSubject, _ vendor: Vendor, _ binding: BindingRecord?
  ) -> DeviceRecord {
    if let binding { return DeviceRecord(deviceID: binding.countingDeviceID, vendor: binding.countingVendor(vendor)) }
    return switch subject {
    case .binding(let applicationID, let bindingID):
      DeviceRecord(deviceID: DeviceRecord.standInID(forUnknownBinding: bindingID, applicationID: applicationID))
    case .profile, .profileTouchID: .placeholder
    }
  }

  private static func missingProfile(of subject: AttemptSubject, _ binding: BindingRecord?) -> ProfileRecord {
    if let binding { return ProfileRecord(applicationID: binding.applicationID, profileID: binding.profileID) }
    return switch subject {
    case .binding(let applicationID, let bindingID):
      ProfileRecord(
        applicationID: applicationID, profileID: ProfileRecord.standInID(forUnknownBinding: bindingID))
    case .profile(let applicationID, let profileID):
      ProfileRecord(applicationID: applicationID, profileID: profileID)
    case .profileTouchID(let applicationID, _): .placeholder(in: applicationID)
    }
  }

  static func device(id: String, vendor: Vendor) -> StatementCall {
    StatementCall(.selectDevice).bind(vendor.storedID(ofDevice: id)).bind(id)
  }

  static func enrolment(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey
  ) -> [StatementCall] {
    [
      StatementCall(.selectProfile).bind(applicationID).bind(profileID),
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
    guard results.count == 5 else { throw .corrupt("an answer is missing") }
    let profiles = try results[0].map { row throws(PostgresError) in try ProfileRecord(&row) }
    let bindings = try results[1].map { row throws(PostgresError) in try BindingRecord(&row) }
    let devices = try results[4].map { row in DeviceRecord(&row).known(to: vendor) }
    return EnrolmentRecords(
      profile: profiles.first ?? ProfileRecord(applicationID: applicationID, profileID: profileID),
      device: devices.first ?? DeviceRecord(deviceID: deviceID, vendor: vendor), deviceBinding: bindings.first,
      activeBindingCount: try results[2].only { row in Int(row.integer()) },
      isTicketUsed: try results[3].only { row in
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
  /// Where it is everybody's, the vendor has none of its own. Stand-ins are everybody's.
  func known(to vendor: Vendor) -> DeviceRecord {
    self.vendor == vendor || isOfNoVendor ? self : inherited(by: vendor)
  }
}

extension Row {
  /// `nil`, where the first of the record's columns is NULL: a row of another table stands alone.
  fileprivate mutating func present<Record>(
    _ columnCount: Int, _ read: (inout Row) throws(PostgresError) -> Record
  ) throws(PostgresError) -> Record? {
    guard isNull else { return try read(&self) }
    skip(columnCount)
    return nil
  }
}
