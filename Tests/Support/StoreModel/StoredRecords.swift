// The contents of a store, in plain dictionaries, and its one law: a change set is done whole, or not at all.

public import TouchstonePolicy
public import TouchstoneStore

public struct StoredRecords: Sendable {
  /// Identifiers are compared byte for byte, which `String` does not.
  public typealias Name = [UInt8]

  public struct ProfileName: Hashable, Sendable {
    public var application: Name
    public var profile: Name

    public init(_ applicationID: String, _ profileID: String) {
      application = Array(applicationID.utf8)
      profile = Array(profileID.utf8)
    }
  }

  public private(set) var bindings: [Name: BindingRecord] = [:]
  private var receipts: [Name: [UInt8]] = [:]
  public private(set) var devices: [Name: DeviceRecord] = [:]
  public private(set) var profiles: [ProfileName: ProfileRecord] = [:]
  public private(set) var events: [EventRecord] = []
  public private(set) var chain = EventChain()
  /// Where the kept events begin.
  public private(set) var eventStart = EventChain.Head.genesis
  public private(set) var evaluations: [ExpiringKey: EvaluationRecord] = [:]
  private var tokens: [ExpiringKey: TokenRecord] = [:]
  private var usedTickets: Set<ExpiringKey> = []
  /// A record that expired before it counts as used; see `Store.sweep`.
  public private(set) var sweepMark: UnixTime?
  private var keyCheck: [UInt8]?
  private var accountKeys: AccountKeys?
  private var hasSignedAccounts = false

  public init() {}

  /// See `Store.keyCheck`.
  public mutating func keyCheck(initially check: [UInt8]) -> [UInt8] {
    let known = keyCheck ?? check
    keyCheck = known
    return known
  }

  // MARK: Reading

  public func binding(_ id: String) -> BindingRecord? { bindings[Array(id.utf8)] }

  public func receipt(ofBinding id: String) -> [UInt8] { receipts[Array(id.utf8)] ?? [] }

  public func device(_ id: String, of vendor: Vendor = .everybody) -> DeviceRecord {
    devices[Array(vendor.storedID(ofDevice: id).utf8)] ?? devices[Array(id.utf8)]?.inherited(by: vendor)
      ?? DeviceRecord(deviceID: id, vendor: vendor)
  }

  public func profile(_ applicationID: String, _ profileID: String) -> ProfileRecord {
    profiles[ProfileName(applicationID, profileID)]
      ?? ProfileRecord(applicationID: applicationID, profileID: profileID)
  }

  public func evaluation(_ key: ExpiringKey) -> EvaluationRecord? {
    isSwept(key) ? .swept(key) : evaluations[key]
  }

  public func token(_ key: ExpiringKey) -> TokenRecord? {
    isSwept(key) ? .swept(key) : tokens[key]
  }

  public func isUsed(ticket key: ExpiringKey) -> Bool {
    isSwept(key) || usedTickets.contains(key)
  }

  /// Ordered by id.
  public func bindings(
    _ applicationID: String, _ profileID: String, includingRevoked: Bool = false
  ) -> [BindingRecord] {
    bindings.values
      .filter {
        Identifier.areEqual($0.applicationID, applicationID) && Identifier.areEqual($0.profileID, profileID)
          && (includingRevoked || !$0.isRevoked)
      }
      .sorted { $0.bindingID.utf8.lexicographicallyPrecedes($1.bindingID.utf8) }
  }

  /// A page of them.
  public func bindings(
    _ applicationID: String, _ profileID: String, includingRevoked: Bool, after: String?, limit: Int
  ) -> [BindingRecord] {
    let all = bindings(applicationID, profileID, includingRevoked: includingRevoked)
    let following = all.filter { after?.utf8.lexicographicallyPrecedes($0.bindingID.utf8) ?? true }
    return Array(following.prefix(limit))
  }

  public func activeBinding(_ applicationID: String, onDevice deviceID: String) -> BindingRecord? {
    bindings.values.first {
      !$0.isRevoked && Identifier.areEqual($0.applicationID, applicationID)
        && Identifier.areEqual($0.deviceID, deviceID)
    }
  }

  /// Ordered by their bytes.
  public func profileIDs(_ applicationID: String, from start: String, limit: Int) -> [String] {
    let ids = profiles.values.filter { Identifier.areEqual($0.applicationID, applicationID) }.map(\.profileID)
      .filter { !$0.utf8.lexicographicallyPrecedes(start.utf8) }
    return Array(ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.prefix(limit))
  }

  /// The log of a test is in the order of its times, or it may be any place.
  public func eventPlace(at time: UnixTime) -> UInt64 {
    let next = events.first { ($0.event?.time).map { $0 >= time } ?? false }
    guard let next else { return chain.head.sequence }
    // Erased events before it count like it.
    return events.last { $0.sequence < next.sequence && !$0.isErased }?.sequence ?? eventStart.sequence
  }

  public func events(matching filter: EventFilter, afterSequence: UInt64, limit: Int) -> [EventRecord] {
    Array(looked(after: afterSequence, filter).lazy.filter(filter.admits).prefix(limit))
  }

  /// Returns the events that one read looks at, without gaps.
  private func looked(after sequence: UInt64, _ filter: EventFilter) -> ArraySlice<EventRecord> {
    let start = max(sequence, eventStart.sequence) - eventStart.sequence
    return events.dropFirst(Int(clamping: start)).prefix(EventPage.maximumRows).prefix { $0.sequence <= filter.through }
  }

  public func eventPage(matching filter: EventFilter, afterSequence: UInt64, limit: Int) -> EventPage {
    let page = events(matching: filter, afterSequence: afterSequence, limit: max(0, limit))
    let end = chain.head.sequence
    guard page.count == limit else {
      let last = looked(after: afterSequence, filter).last?.sequence ?? min(end, filter.through)
      return EventPage(events: page, through: last, start: eventStart.sequence, end: end)
    }
    return EventPage(events: page, through: page.last?.sequence ?? 0, start: eventStart.sequence, end: end)
  }

  public func holder(_ applicationID: String, _ profileID: String) -> HolderRecords {
    HolderRecords(
      profile: profile(applicationID, profileID),
      erasureMark: profile(applicationID, ProfileRecord.erasureMarkID(forProfile: profileID)))
  }

  public func enrolment(
    _ applicationID: String, _ profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey
  ) -> EnrolmentRecords {
    EnrolmentRecords(
      holder: holder(applicationID, profileID), device: device(deviceID, of: vendor),
      deviceBinding: activeBinding(applicationID, onDevice: deviceID),
      activeBindingCount: bindings(applicationID, profileID).count, isTicketUsed: isUsed(ticket: ticket))
  }

  public func attempt(
    of subject: AttemptSubject, vendor: Vendor = .everybody, evaluation: ExpiringKey?
  ) -> AttemptRecords {
    let binding = binding(of: subject)
    let (device, profile) = (subject.newDevice(of: binding, vendor: vendor), subject.newProfile(of: binding))
    return AttemptRecords(
      binding: binding, device: binding == nil ? device : self.device(device.deviceID, of: vendor),
      profile: self.profile(profile.applicationID, profile.profileID),
      evaluation: evaluation.flatMap { self.evaluation($0) })
  }

  private func binding(of subject: AttemptSubject) -> BindingRecord? {
    switch subject {
    case .binding(let applicationID, let bindingID):
      binding(bindingID).flatMap { Identifier.areEqual($0.applicationID, applicationID) ? $0 : nil }
    case .profile: nil
    case .profileTouchID(let applicationID, let digest):
      bindings.values.first {
        !$0.isRevoked && Identifier.areEqual($0.applicationID, applicationID)
          && $0.credential.digest == digest
      }
    }
  }

  // MARK: Changing

  public mutating func apply(_ changeSet: ChangeSet) throws(StoreError) {
    for change in changeSet.changes { try require(change) }
    self = try changed(by: changeSet.changes)
    for event in changeSet.events { append(event) }
  }

  private func changed(by changes: [Change]) throws(StoreError) -> StoredRecords {
    var next = self
    for change in changes { try next.write(change) }
    return next
  }

  /// Its number is salt enough, since no test guesses, and so every run's hashes are alike.
  private mutating func append(_ event: EventDraft) {
    events.append(chain.append(event, salt: UniqueID(high: 0, low: chain.head.sequence)))
  }

  /// See `Store.signAccounts`.
  public mutating func signAccounts(with keys: AccountKeys) -> UInt64? {
    accountKeys = keys
    let beginning = EventDraft.signing(at: UnixTime(microseconds: 0))
    guard !hasSignedAccounts, let signed = beginning.signed(by: keys, after: chain.head) else { return nil }
    hasSignedAccounts = true
    append(signed)
    return chain.head.sequence
  }

  private mutating func append(account event: EventDraft) {
    append(accountKeys.flatMap { event.signed(by: $0, after: chain.head) } ?? event)
  }

  private func requireAuditKey() throws(StoreError) {
    if hasSignedAccounts, accountKeys?.sign([], UnixTime(microseconds: 0)) == nil { throw .noAuditKey }
  }

  public mutating func drop(_ archived: ArchivedEvents) throws(StoreError) {
    try requireAuditKey()
    let isErasedSince = events.contains {
      $0.sequence > archived.unerasedThrough && $0.event.map(archived.isErased) == true
    }
    guard archived.start == eventStart, archived.end.sequence <= chain.head.archivableEnd, !isErasedSince,
      events.contains(where: { $0.sequence == archived.end.sequence && $0.hash == archived.end.hash })
    else { throw StoreError(code: .conflict, message: "not as it was archived") }
    eventStart = archived.end
    events.removeAll { $0.sequence <= archived.end.sequence }
    append(account: archived.event(at: UnixTime(microseconds: 0)))
  }

  /// All in one step.
  @discardableResult
  public mutating func sweep(before time: UnixTime) -> SweepResult {
    let mark = max(sweepMark ?? time, time)
    sweepMark = mark
    let count = evaluations.count + tokens.count + usedTickets.count
    evaluations = evaluations.filter { !isSwept($0.key) }
    tokens = tokens.filter { !isSwept($0.key) }
    usedTickets = usedTickets.filter { !isSwept($0) }
    let removedRows = count - evaluations.count - tokens.count - usedTickets.count
    return SweepResult(removedRows: removedRows, hasMore: false, sweptBefore: mark)
  }

  private func isSwept(_ key: ExpiringKey) -> Bool {
    sweepMark.map { key.expiresAt < $0 } ?? false
  }

  private func require(_ change: Change) throws(StoreError) {
    let isAsRead =
      switch change {
      case .putBinding(let record): version(ofBinding: record.bindingID) == record.version
      case .putDevice(let record): device(record.deviceID, of: record.vendor).version == record.version
      case .putProfile(let record): profile(record.applicationID, record.profileID).version == record.version
      case .putEvaluation(let record): !isSwept(record.key) && (evaluations[record.key]?.version ?? 0) == record.version
      case .putToken(let record): !isSwept(record.key) && (tokens[record.key]?.version ?? 0) == record.version
      case .useTicket(let key): !isUsed(ticket: key)
      case .touchBinding(let id, let version, _), .requireBinding(let id, let version):
        self.version(ofBinding: id) == version
      case .raiseProofCounter(let id, let from, _): binding(id)?.proofCounter == from
      case .requireDevice(let id, let vendor, let version): device(id, of: vendor).version == version
      case .requireProfile(let applicationID, let profileID, let version):
        profile(applicationID, profileID).version == version
      case .requireToken(let key, let version): !isSwept(key) && (tokens[key]?.version ?? 0) == version
      case .notePosture, .putReceipt, .moveReceipt, .eraseProfile: true
      }
    if case .eraseProfile = change { try requireAuditKey() }
    if !isAsRead { throw StoreError(code: .conflict, message: "not as it was read") }
  }

  private func version(ofBinding id: String) -> RecordVersion { binding(id)?.version ?? 0 }

  private mutating func write(_ change: Change) throws(StoreError) {
    switch change {
    case .putBinding(var record):
      record.version += 1
      record.lastUsedAt = [record.lastUsedAt, binding(record.bindingID)?.lastUsedAt].compactMap(\.self).max()
      record.lastSeen = binding(record.bindingID)?.lastSeen ?? record.lastSeen
      record.proofCounter = max(record.proofCounter, binding(record.bindingID)?.proofCounter ?? 0)
      bindings[Array(record.bindingID.utf8)] = record
      try requireSoleHolder(record)
    case .putDevice(var record):
      record.version += 1
      devices[Array(record.storedID.utf8)] = record
    case .putProfile(var record):
      if record.version == 0 {
        let mark = ProfileRecord.erasureMarkID(forProfile: record.profileID)
        record.version = profile(record.applicationID, mark).version
      }
      record.version += 1
      profiles[ProfileName(record.applicationID, record.profileID)] = record
    case .putEvaluation(var record):
      record.version += 1
      evaluations[record.key] = record
    case .putToken(var record):
      record.version += 1
      tokens[record.key] = record
    case .useTicket(let key):
      usedTickets.insert(key)
    case .touchBinding(let id, _, let lastUsedAt):
      bindings[Array(id.utf8)]?.lastUsedAt = lastUsedAt
    case .notePosture(let id, let posture):
      bindings[Array(id.utf8)]?.lastSeen = posture
    case .raiseProofCounter(let id, _, let counter):
      bindings[Array(id.utf8)]?.proofCounter = counter
    case .putReceipt(let id, let receipt):
      receipts[Array(id.utf8)] = receipt
    case .moveReceipt(let id, let newID):
      if let receipt = receipts.removeValue(forKey: Array(id.utf8)) { receipts[Array(newID.utf8)] = receipt }
    case .eraseProfile(let erasure):
      erase(erasure)
    case .requireBinding, .requireDevice, .requireProfile, .requireToken:
      break
    }
  }

  private mutating func erase(_ erasure: ProfileErasure) {
    let bindings = bindings(erasure.applicationID, erasure.profileID, includingRevoked: true)
    for binding in bindings {
      self.bindings[Array(binding.bindingID.utf8)] = nil
      receipts[Array(binding.bindingID.utf8)] = nil
    }
    raiseMark(erasure.markID, of: erasure, to: profile(erasure.applicationID, erasure.markID).version + 1)
    let removed = profiles.removeValue(forKey: ProfileName(erasure.applicationID, erasure.profileID))
    if let removed { raiseMark(erasure.markID, of: erasure, to: removed.version) }
    var erased: [ErasedEvent] = []
    for (index, record) in events.enumerated() {
      guard let event = record.event, Identifier.areEqual(event.applicationID, erasure.applicationID),
        Identifier.areEqual(event.profileID, erasure.profileID)
      else { continue }
      events[index] = record.erased()
      erased.append(ErasedEvent(sequence: record.sequence, digest: record.content.digest))
    }
    for account in erasure.accounts(ofErased: erased) { append(account: account) }
  }

  private mutating func raiseMark(_ id: String, of erasure: ProfileErasure, to version: RecordVersion) {
    var mark = profile(erasure.applicationID, id)
    mark.version = max(mark.version, version)
    profiles[ProfileName(erasure.applicationID, id)] = mark
  }

  /// A device speaks for one profile in an application (R29), and a ProfileTouchID for one binding (R30).
  private func requireSoleHolder(_ record: BindingRecord) throws(StoreError) {
    guard !record.isRevoked else { return }
    let holders = bindings.values.filter { other in
      guard !other.isRevoked, Identifier.areEqual(other.applicationID, record.applicationID) else { return false }
      if Identifier.areEqual(other.deviceID, record.deviceID) { return true }
      guard let digest = record.credential.digest else { return false }
      return other.credential.digest == digest
    }
    if holders.count > 1 { throw StoreError(code: .conflict, message: "another active binding holds it") }
  }
}

extension EventFilter {
  fileprivate func admits(_ record: EventRecord) -> Bool {
    guard let event = record.event else {
      var withoutConditions = EventFilter(applicationID: "")
      withoutConditions.through = through
      return self == withoutConditions
    }
    if let times, event.time < times.lowerBound || event.time >= times.upperBound { return false }
    let named = [(deviceID, event.deviceID), (bindingID, event.bindingID), (caller, event.caller)]
    guard named.allSatisfy({ $0.isEmpty || Identifier.areEqual($0, $1) }) else { return false }
    guard reason.isEmpty || event.details.first(where: { $0.key == "reason" })?.value == reason else { return false }
    guard kindPrefixes.isEmpty || kindPrefixes.contains(where: event.kind.hasPrefix) else { return false }
    guard !applicationID.isEmpty else { return true }
    return Identifier.areEqual(event.applicationID, applicationID)
      && (profileID.isEmpty || Identifier.areEqual(event.profileID, profileID))
  }
}
