// The store's calls for tests: awaited instead of called back.

internal import Testing
public import TouchstonePolicy
public import TouchstoneStore

extension Store {
  @discardableResult
  public func signAccounts(with keys: AccountKeys) async throws(StoreError) -> UInt64? {
    try await result { signAccounts(with: keys, completion: $0) }
  }

  public func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor = .everybody, evaluation: ExpiringKey? = nil
  ) async throws(StoreError) -> AttemptRecords {
    try await result { attemptRecords(for: subject, vendor: vendor, evaluation: evaluation, completion: $0) }
  }

  public func attemptRecords(
    bindingID: String, vendor: Vendor = .everybody, evaluation: ExpiringKey? = nil
  ) async throws(StoreError) -> AttemptRecords {
    try await attemptRecords(
      for: .binding(applicationID: Sample.application, bindingID: bindingID), vendor: vendor, evaluation: evaluation)
  }

  public func profile(
    _ profileID: String = "alice", applicationID: String = Sample.application
  ) async throws(StoreError) -> ProfileRecord {
    try await attemptRecords(for: .profile(applicationID: applicationID, profileID: profileID)).profile
  }

  public func holderRecords(
    applicationID: String = Sample.application, profileID: String = "alice"
  ) async throws(StoreError) -> HolderRecords {
    try await result { holderRecords(applicationID: applicationID, profileID: profileID, completion: $0) }
  }

  public func enrolmentRecords(
    applicationID: String = Sample.application, profileID: String = "alice", deviceID: String = "phone-1",
    vendor: Vendor = .everybody, ticket: ExpiringKey = .sample()
  ) async throws(StoreError) -> EnrolmentRecords {
    try await result {
      enrolmentRecords(
        applicationID: applicationID, profileID: profileID, deviceID: deviceID, vendor: vendor, ticket: ticket,
        completion: $0)
    }
  }

  public func device(id: String, vendor: Vendor = .everybody) async throws(StoreError) -> DeviceRecord {
    try await result { device(id: id, vendor: vendor, completion: $0) }
  }

  public func activeBinding(
    applicationID: String = Sample.application, deviceID: String
  ) async throws(StoreError) -> BindingRecord? {
    try await result { activeBinding(applicationID: applicationID, deviceID: deviceID, completion: $0) }
  }

  public func receipt(ofBinding id: String) async throws(StoreError) -> [UInt8] {
    try await result { receipt(ofBinding: id, completion: $0) }
  }

  public func token(_ key: ExpiringKey) async throws(StoreError) -> TokenRecord? {
    try await result { token(key, completion: $0) }
  }

  public func bindings(
    applicationID: String = Sample.application, profileID: String = "alice", includingRevoked: Bool = false,
    after: String? = nil, limit: Int = 100
  ) async throws(StoreError) -> [BindingRecord] {
    try await result {
      bindings(
        applicationID: applicationID, profileID: profileID, includingRevoked: includingRevoked, after: after,
        limit: limit, completion: $0)
    }
  }

  public func profileIDs(
    applicationID: String = Sample.application, from start: String, limit: Int = 100
  ) async throws(StoreError) -> [String] {
    try await result { profileIDs(applicationID: applicationID, from: start, limit: limit, completion: $0) }
  }

  public func eventPlace(at time: UnixTime) async throws(StoreError) -> UInt64 {
    try await result { eventPlace(at: time, completion: $0) }
  }

  /// In as many reads as it takes.
  public func events(
    matching filter: EventFilter = EventFilter(applicationID: ""), afterSequence: UInt64 = 0, limit: Int = 1_000
  ) async throws(StoreError) -> [EventRecord] {
    var page = try await eventPage(matching: filter, afterSequence: afterSequence, limit: limit)
    var events = page.events
    while !page.reachesEnd, page.through < filter.through, events.count < limit {
      page = try await eventPage(matching: filter, afterSequence: page.through, limit: limit - events.count)
      events += page.events
    }
    return events
  }

  public func eventPage(
    matching filter: EventFilter = EventFilter(applicationID: ""), afterSequence: UInt64 = 0, limit: Int = 1_000
  ) async throws(StoreError) -> EventPage {
    try await result { events(matching: filter, afterSequence: afterSequence, limit: limit, completion: $0) }
  }

  public func confirm() async throws(StoreError) {
    try await result { confirm(completion: $0) }
  }

  public func probe() async throws(StoreError) {
    try await result { probe(completion: $0) }
  }

  public func eventChainHead() async throws(StoreError) -> EventChain.Head {
    try await result { eventChainHead(completion: $0) }
  }

  public func commit(_ changes: Change..., events: [EventDraft] = []) async throws(StoreError) {
    try await commit(ChangeSet(changes: changes, events: events))
  }

  public func commit(_ changeSet: ChangeSet) async throws(StoreError) {
    try await result { commit(changeSet, completion: $0) }
  }

  public func commit(_ changes: [Change]) async throws(StoreError) {
    try await result { commit(ChangeSet(changes: changes), completion: $0) }
  }

  public func sweep(before time: UnixTime) async throws(StoreError) -> SweepResult {
    try await result { sweep(before: time, completion: $0) }
  }

  public func keyCheck(initially check: [UInt8]) async throws(StoreError) -> [UInt8] {
    try await result { keyCheck(initially: check, completion: $0) }
  }

  public func eventChainStart() async throws(StoreError) -> EventChain.Head {
    try await result { eventChainStart(completion: $0) }
  }

  /// Having claimed archiving, as who archives does.
  public func drop(_ archived: ArchivedEvents) async throws(StoreError) {
    _ = try await claimArchiving(by: archived.claimant, for: .zero)
    try await result { drop(archived, completion: $0) }
  }

  public func claimArchiving(by claimant: UniqueID, for duration: Duration) async throws(StoreError) -> Bool {
    try await result { claimArchiving(by: claimant, for: duration, completion: $0) }
  }

  /// As far as an archive would hold them.
  public func dropEvents(through sequence: UInt64) async throws {
    let end = try #require(try await events().first { $0.sequence == sequence })
    try await drop(
      ArchivedEvents(
        start: eventChainStart(), end: EventChain.Head(sequence: sequence, hash: end.hash),
        unerasedThrough: eventChainHead().sequence))
  }

  public func close() async {
    await withCheckedContinuation { continuation in close { continuation.resume() } }
  }

  private func result<Value: Sendable>(
    _ call: (@escaping Completion<Value>) -> Void
  ) async throws(StoreError) -> Value {
    let result = await withCheckedContinuation { continuation in
      call { continuation.resume(returning: $0) }
    }
    return try result.get()
  }
}
