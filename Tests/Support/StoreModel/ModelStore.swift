// A store whose operations are read from and made on `StoredRecords`.

public import TouchstonePolicy
public import TouchstoneStore

/// The kinds of calls to a store, as a trace names them.
public enum StoreWork: String, Sendable {
  case attempt = "an attempt's records"
  case holder = "a ticket's holder"
  case enrolment = "an enrolment's records"
  case device = "a device"
  case activeBinding = "a device's binding"
  case receipt = "a binding's receipt"
  case token = "a token"
  case bindings
  case profileIDs = "profiles' ids"
  case place = "a time's place in the log"
  case events
  case chainHead = "the chain's head"
  case chainStart = "the chain's start"
  case sweep = "a sweep"
  case drop = "a drop"
  case claim = "a claim"
  case keyCheck = "a key check"
  case signing = "that accounts are signed"
}

/// Decides when and how an operation is answered; the operations themselves are the same for every such store.
public protocol ModelStore: Store {
  func read<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>,
    _ value: @escaping @Sendable (StoredRecords) -> Value)

  func write<Value: Sendable>(
    _ work: StoreWork, _ completion: @escaping Completion<Value>,
    _ change: @escaping @Sendable (inout StoredRecords) throws(StoreError) -> Value)
}

extension ModelStore {
  public func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>
  ) {
    read(.attempt, completion) { $0.attempt(of: subject, vendor: vendor, evaluation: evaluation) }
  }

  public func holderRecords(applicationID: String, profileID: String, completion: @escaping Completion<HolderRecords>) {
    read(.holder, completion) { $0.holder(applicationID, profileID) }
  }

  public func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    completion: @escaping Completion<EnrolmentRecords>
  ) {
    read(.enrolment, completion) {
      $0.enrolment(applicationID, profileID, deviceID: deviceID, vendor: vendor, ticket: ticket)
    }
  }

  public func device(id: String, vendor: Vendor, completion: @escaping Completion<DeviceRecord>) {
    read(.device, completion) { $0.device(id, of: vendor) }
  }

  public func activeBinding(
    applicationID: String, deviceID: String, completion: @escaping Completion<BindingRecord?>
  ) {
    read(.activeBinding, completion) { $0.activeBinding(applicationID, onDevice: deviceID) }
  }

  public func receipt(ofBinding id: String, completion: @escaping Completion<[UInt8]>) {
    read(.receipt, completion) { $0.receipt(ofBinding: id) }
  }

  public func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>) {
    read(.token, completion) { $0.token(key) }
  }

  public func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int,
    completion: @escaping Completion<[BindingRecord]>
  ) {
    read(.bindings, completion) {
      $0.bindings(applicationID, profileID, includingRevoked: includingRevoked, after: after, limit: limit)
    }
  }

  public func profileIDs(
    applicationID: String, from start: String, limit: Int, completion: @escaping Completion<[String]>
  ) {
    read(.profileIDs, completion) { $0.profileIDs(applicationID, from: start, limit: limit) }
  }

  public func eventPlace(at time: UnixTime, completion: @escaping Completion<UInt64>) {
    read(.place, completion) { $0.eventPlace(at: time) }
  }

  public func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>
  ) {
    read(.events, completion) { $0.eventPage(matching: filter, afterSequence: afterSequence, limit: limit) }
  }

  public func eventChainHead(completion: @escaping Completion<EventChain.Head>) {
    read(.chainHead, completion) { $0.chain.head }
  }

  public func eventChainStart(completion: @escaping Completion<EventChain.Head>) {
    read(.chainStart, completion) { $0.eventStart }
  }

  public func sweep(before time: UnixTime, completion: @escaping Completion<SweepResult>) {
    write(.sweep, completion) { $0.sweep(before: time) }
  }

  public func drop(_ archived: ArchivedEvents, completion: @escaping Completion<Void>) {
    write(.drop, completion) { records throws(StoreError) in try records.drop(archived) }
  }

  public func claimArchiving(by claimant: UniqueID, for duration: Duration, completion: @escaping Completion<Bool>) {
    write(.claim, completion) { _ in true }
  }

  public func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>) {
    write(.keyCheck, completion) { $0.keyCheck(initially: check) }
  }

  public func signAccounts(with keys: AccountKeys, completion: @escaping Completion<UInt64?>) {
    write(.signing, completion) { $0.signAccounts(with: keys) }
  }
}
