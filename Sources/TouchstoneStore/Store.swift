// What the service asks of any store. SQLite for one machine; PostgreSQL for many.

public import TouchstonePolicy

/// Durable records with compare-and-set, and an append-only audit log.
///
/// Every function may call its completion before it returns (a cache hit) or later, on a thread of the store's own; never
/// twice. A completion must not block. Reads may be stale: whoever acts on one puts what it rests on into the
/// change set, and `commit` finds out.
public protocol Store: Sendable {
  typealias Completion<Value> = @Sendable (Result<Value, StoreError>) -> Void

  /// In which every key is issued, and no other counts.
  var lineage: Lineage { get }

  /// All that an attempt rests on, in one round trip.
  ///
  /// - Parameters:
  ///   - vendor: the application's, whose record of the device it is.
  ///   - evaluation: `nil` where none is asked for.
  func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>)

  /// Of a binding, and at once, by a store that need not wait for it: without what it takes to hand a completion round,
  /// which is more than a preflight's own work. `nil`: ask `attemptRecords`.
  func attemptRecordsAtHand(
    ofBinding bindingID: String, applicationID: String, vendor: Vendor
  ) throws(StoreError) -> AttemptRecords?

  /// All that completing a binding rests on. `ticket`: the key that `Change.useTicket` will use.
  func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    completion: @escaping Completion<EnrolmentRecords>)

  /// Version 0 where the vendor has no record of it: then with what `Vendor.everybody` knew of it (`DeviceRecord.inherited`).
  func device(id: String, vendor: Vendor, completion: @escaping Completion<DeviceRecord>)

  /// The active binding of this device in this application, whoever's it is.
  func activeBinding(applicationID: String, deviceID: String, completion: @escaping Completion<BindingRecord?>)

  func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>)

  /// Ordered by binding id. `after`: the last id of the previous page, or `nil`.
  func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int,
    completion: @escaping Completion<[BindingRecord]>)

  /// Ordered by sequence, from the first after `afterSequence` that is kept (`EventPage.start`). Looks at no more than
  /// `EventPage.maximumRows`: a page may be empty though more follows (`EventPage.reachesEnd`).
  func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>)

  /// Where the audit log ends: with it, a verification also finds events that are missing at the end (R41).
  func eventChainHead(completion: @escaping Completion<EventChain.Head>)

  /// After which event the kept ones begin: the last that was archived and dropped, or `genesis`.
  func eventChainStart(completion: @escaping Completion<EventChain.Head>)

  /// Rings where events were appended.
  var eventSignal: EventSignal { get }

  /// Completes when the change set is durable, or was refused whole.
  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>)

  /// Completes when all that could be read before the call is durable: for answers that promise something and change
  /// nothing, because it is so already.
  func confirm(completion: @escaping Completion<Void>)

  /// Drops what expired before `time` (`SweepClock`), the stand-ins that may be forgotten, and the rows of dropped events, in small
  /// steps. Call it now and then.
  ///
  /// The latest `time` ever given is kept as a mark, durably and with the rows' removal. A key that expires before the
  /// mark reads as used from then on, whatever was known of it, for a row that is gone must not let a used challenge or
  /// ticket work again where the clock is set back (R28, R35):
  ///
  /// - an evaluation is there and finished, a token is there and revoked (neither with a version that means anything),
  ///   a ticket is used;
  /// - `commit` answers a `putEvaluation`, `putToken` or `useTicket` of such a key with a conflict.
  func sweep(before time: UnixTime, completion: @escaping Completion<SweepResult>)

  /// Drops events that were archived: they read as gone from then on, and sweeping removes their rows. The log's last two
  /// stay, so that its end can be checked.
  ///
  /// A conflict where the kept log does not begin or go on as `archived` says, where a profile was erased meanwhile, or
  /// somebody else claimed archiving: look at the log again.
  func drop(_ archived: ArchivedEvents, completion: @escaping Completion<Void>)

  /// Whether the claimant may archive for this long, where nobody else may. Who claims again before that goes on, or
  /// lets others by claiming no time.
  func claimArchiving(by claimant: UniqueID, for duration: Duration, completion: @escaping Completion<Bool>)

  /// Whether a commit would become durable now, found out by one that leaves nothing behind. Taken where too many writes
  /// wait, too: ask for one at a time.
  func probe(completion: @escaping Completion<Void>)

  /// Which keys the service has: the first check that is ever given is kept, durably, and answered from then on. Where
  /// there is one, nothing is written.
  func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>)

  /// Signs the accounts of what is gone from the audit log with these keys from now on (`AccountClaim`), and appends the event
  /// that says so where the log has none yet. To be called once, before the store is used. Fails with `corrupt` where an
  /// account that was read when the store was opened has a signature that its key did not make.
  func signAccounts(with keys: AccountKeys, completion: @escaping Completion<Void>)

  /// Finishes what was accepted, then lets go of the files or connections. Nothing is accepted afterwards.
  func close(completion: @escaping @Sendable () -> Void)
}

extension Store {
  /// By a store that shows only what is durable.
  public func confirm(completion: @escaping Completion<Void>) {
    completion(.success(()))
  }

  public func attemptRecordsAtHand(
    ofBinding bindingID: String, applicationID: String, vendor: Vendor
  ) throws(StoreError) -> AttemptRecords? {
    nil
  }
}

public struct EnrolmentRecords: Sendable, Hashable {
  /// Version 0 where the profile is new.
  public var profile: ProfileRecord
  /// Version 0 where nothing is known of it.
  public var device: DeviceRecord
  /// The active binding of this device in this application, whoever's it is.
  public var deviceBinding: BindingRecord?
  /// Active bindings of the profile in this application.
  public var activeBindingCount: Int
  /// The ticket was used before, or expires before the latest sweep.
  public var isTicketUsed: Bool

  public init(
    profile: ProfileRecord, device: DeviceRecord, deviceBinding: BindingRecord?, activeBindingCount: Int,
    isTicketUsed: Bool
  ) {
    self.profile = profile
    self.device = device
    self.deviceBinding = deviceBinding
    self.activeBindingCount = activeBindingCount
    self.isTicketUsed = isTicketUsed
  }
}

/// Events that were asked for, and how much of the log that answers.
public struct EventPage: Sendable, Hashable {
  /// One read looks at so many events, or places to look for them, whatever it finds: some 3 ms, for which others wait.
  public static let maximumRows = 1_024

  public var events: [EventRecord]
  /// After those that were not asked for, no other event up to this one matches. Where the page is full, the last one
  /// in it; where the read ended before it was, the last one that it looked at; else the log's end when it was read, which
  /// may be before `afterSequence`.
  public var through: UInt64
  /// Where the log ended when it was read.
  public var end: UInt64
  /// Events up to this one were archived and dropped: those of them that are after `afterSequence` are missing here.
  public var start: UInt64

  /// False: more may follow.
  public var reachesEnd: Bool { through >= end }

  public init(events: [EventRecord], through: UInt64, start: UInt64 = 0, end: UInt64) {
    self.events = events
    self.through = through
    self.start = start
    self.end = end
  }
}

public struct EventFilter: Sendable, Hashable {
  /// Empty: all; then `profileID` is not looked at.
  public var applicationID: String
  /// Empty: all.
  public var profileID: String
  /// Prefixes of kinds; empty: all.
  public var kindPrefixes: [String]

  public init(applicationID: String, profileID: String = "", kindPrefixes: [String] = []) {
    self.applicationID = applicationID
    self.profileID = profileID
    self.kindPrefixes = kindPrefixes
  }
}

extension EventFilter {
  /// Of whom an erased event was is not known: it matches where nothing is asked for in particular.
  public func includes(_ record: EventRecord) -> Bool {
    guard let event = record.event else { return applicationID.isEmpty && kindPrefixes.isEmpty }
    guard includes(kind: event.kind) else { return false }
    guard !applicationID.isEmpty else { return true }
    return Identifier.areEqual(event.applicationID, applicationID)
      && (profileID.isEmpty || Identifier.areEqual(event.profileID, profileID))
  }

  public func includes(kind: String) -> Bool {
    kindPrefixes.isEmpty || kindPrefixes.contains { kind.utf8.starts(with: $0.utf8) }
  }
}

public struct SweepResult: Sendable, Hashable {
  public var removedRows: Int
  /// More rows than one step takes are waiting.
  public var hasMore: Bool
  /// The mark: what expires earlier counts as used. It may be another process's.
  public var sweptBefore: UnixTime

  public init(removedRows: Int, hasMore: Bool, sweptBefore: UnixTime) {
    self.removedRows = removedRows
    self.hasMore = hasMore
    self.sweptBefore = sweptBefore
  }
}

/// Why a store could not do as asked.
public struct StoreError: Error, Sendable, Hashable {
  public enum Code: UInt8, Sendable, Hashable {
    /// A record changed since it was read: read anew, decide again.
    case conflict
    /// Not now: closed, disk full, out of reach, too many waiting. Nothing was written.
    case unavailable
    /// The outcome of a commit is not known.
    case inDoubt
    /// What was read cannot be right.
    case corrupt
  }

  /// What the operator has to do before the store works again. The message says it in words.
  public enum Remedy: UInt8, Sendable, Hashable {
    case checkDiskAndRestart
    case restart
    case addAuditKey
  }

  public var code: Code
  /// `nil`: the failure passes by itself, or is the caller's doing.
  public var remedy: Remedy?
  /// For the log and the operator; never for a caller.
  public var message: String

  public init(code: Code, remedy: Remedy? = nil, message: String) {
    self.code = code
    self.remedy = remedy
    self.message = message
  }
}

/// Why a store could not be opened: nothing was changed.
public struct StoreOpenError: Error, Sendable, Hashable {
  public enum Code: UInt8, Sendable, Hashable {
    /// Another process has it.
    case locked
    /// No permission, a read-only disk, no such place.
    case unwritable
    /// Other users can change it.
    case unprotected
    /// The database does not answer, or not us: perhaps later.
    case unreachable
    /// Written by a newer or an earlier Touchstone, in a form that this one does not read.
    case otherSchema
    /// Not a database, another application's, or damaged.
    case corrupt
  }

  public var code: Code
  /// One line that says what is wrong and what to do.
  public var message: String

  public init(code: Code, message: String) {
    self.code = code
    self.message = message
  }
}
