public import TouchstonePolicy

/// Durable records with compare-and-set, and an append-only audit log: what the service requires of SQLite for one
/// machine and of PostgreSQL for many.
///
/// Every function may call its completion before it returns (a cache hit) or later, on a thread of the store's own;
/// never twice. A completion must not block. Reads may be stale: a caller that acts on a read puts the versions that it
/// depends on into the change set, and `commit` checks them.
public protocol Store: Sendable {
  typealias Completion<Value> = @Sendable (Result<Value, StoreError>) -> Void

  /// The lineage in which every key is issued. Keys of other lineages are unknown.
  var lineage: Lineage { get }

  /// Everything that an attempt depends on, in one round trip.
  ///
  /// - Parameters:
  ///   - vendor: the application's vendor, whose record of the device is read.
  ///   - evaluation: `nil` to read none.
  func attemptRecords(
    for subject: AttemptSubject, vendor: Vendor, evaluation: ExpiringKey?,
    completion: @escaping Completion<AttemptRecords>)

  /// The records for a binding, at once, if the store has them in memory: without the cost of a completion, which is
  /// more than a preflight's own work. `nil`: call `attemptRecords`.
  func attemptRecordsAtHand(
    ofBinding bindingID: String, applicationID: String, vendor: Vendor
  ) throws(StoreError) -> AttemptRecords?

  /// The records on which a binding ticket for the profile depends.
  func holderRecords(applicationID: String, profileID: String, completion: @escaping Completion<HolderRecords>)

  /// Everything that completing a binding depends on. `ticket`: the key that `Change.useTicket` will use.
  func enrolmentRecords(
    applicationID: String, profileID: String, deviceID: String, vendor: Vendor, ticket: ExpiringKey,
    completion: @escaping Completion<EnrolmentRecords>)

  /// Version 0 if the vendor has no record of it: then with the values from `Vendor.everybody`
  /// (`DeviceRecord.inherited`).
  func device(id: String, vendor: Vendor, completion: @escaping Completion<DeviceRecord>)

  /// The active binding of this device in this application, of any profile.
  func activeBinding(applicationID: String, deviceID: String, completion: @escaping Completion<BindingRecord?>)

  /// Reads the receipt of the binding's App Attest key; empty if it has none.
  func receipt(ofBinding id: String, completion: @escaping Completion<[UInt8]>)

  func token(_ key: ExpiringKey, completion: @escaping Completion<TokenRecord?>)

  /// Ordered by binding id. `after`: the last id of the previous page, or `nil`.
  func bindings(
    applicationID: String, profileID: String, includingRevoked: Bool, after: String?, limit: Int,
    completion: @escaping Completion<[BindingRecord]>)

  /// The ids of an application's profiles in the order of their bytes, from this one on: the index finds them. Erasure
  /// marks may be among them if `start` begins with a control character.
  func profileIDs(applicationID: String, from start: String, limit: Int, completion: @escaping Completion<[String]>)

  /// The number of the last event before the place in the log where events of this time begin; 0 or an archived event's
  /// number if that is the log's beginning. Reads a few dozen events. The log is not quite in the order of the events'
  /// times (`EventDraft.timeTolerance`): within the tolerance, the place is one of several.
  func eventPlace(at time: UnixTime, completion: @escaping Completion<UInt64>)

  /// Ordered by sequence, from the first kept one after `afterSequence` (`EventPage.start`). Reads at most
  /// `EventPage.maximumRows`: a page may be empty although more follow (`EventPage.reachesEnd`).
  func events(
    matching filter: EventFilter, afterSequence: UInt64, limit: Int, completion: @escaping Completion<EventPage>)

  /// The end of the audit log: a verification needs it to find events that are missing at the end (R41).
  func eventChainHead(completion: @escaping Completion<EventChain.Head>)

  /// The event before the first kept one: the last that was archived and dropped, or `genesis`.
  func eventChainStart(completion: @escaping Completion<EventChain.Head>)

  /// Signals that events were appended.
  var eventSignal: EventSignal { get }

  /// Completes when the change set is durable, or was refused as a whole.
  func commit(_ changeSet: ChangeSet, completion: @escaping Completion<Void>)

  /// Completes when everything that could be read before the call is durable. For answers that promise something that
  /// is so already, and change nothing.
  func confirm(completion: @escaping Completion<Void>)

  /// Drops records that expired before `time` (`SweepClock`), and the rows of dropped
  /// events, in small steps. Call it regularly.
  ///
  /// The latest `time` ever given is kept as a mark, durably and together with the rows' removal. A key that expires
  /// before the mark reads as used from then on: if the clock is set back, a removed row must not let a used challenge
  /// or ticket serve again (R28, R35):
  ///
  /// - an evaluation is there and finished, a token is there and revoked (neither with a version that means anything),
  ///   a ticket is used;
  /// - `commit` answers a `putEvaluation`, `putToken` or `useTicket` of such a key with a conflict.
  func sweep(before time: UnixTime, completion: @escaping Completion<SweepResult>)

  /// Drops events that were archived: they read as gone from then on, and sweeping removes their rows. The log's last
  /// two stay, so that its end can be checked.
  ///
  /// A conflict if the kept log does not begin or continue as in `archived`, if one of the events was erased meanwhile,
  /// or if another claimant holds the claim: read the log again.
  func drop(_ archived: ArchivedEvents, completion: @escaping Completion<Void>)

  /// Claims archiving for this long, and returns whether the claim succeeded: only one claimant may archive. The
  /// claimant may extend its claim, or release it by claiming no time.
  func claimArchiving(by claimant: UniqueID, for duration: Duration, completion: @escaping Completion<Bool>)

  /// Whether a commit would become durable now, tested by one that leaves nothing behind. Accepted even if too many
  /// writes wait: make one call at a time.
  func probe(completion: @escaping Completion<Void>)

  /// Which keys the service has: the store keeps the first check that is ever given, durably, and returns it from then
  /// on. If there is one, it writes nothing.
  func keyCheck(initially check: [UInt8], completion: @escaping Completion<[UInt8]>)

  /// Signs the accounts of removed content with these keys from now on (`AccountClaim`). If the log does not state yet
  /// that accounts are signed, appends the event that states it and returns its number; otherwise returns `nil`. Call
  /// it before the store is used, and again when the keys change or a first one falls due. Fails with `corrupt` if an
  /// account that was read at the opening has a forged signature.
  func signAccounts(with keys: AccountKeys, completion: @escaping Completion<UInt64?>)

  /// Finishes accepted work, then closes the files or connections. Accepts nothing afterwards.
  func close(completion: @escaping @Sendable () -> Void)
}

extension Store {
  /// The default for a store that shows only durable records.
  public func confirm(completion: @escaping Completion<Void>) {
    completion(.success(()))
  }

  public func attemptRecordsAtHand(
    ofBinding bindingID: String, applicationID: String, vendor: Vendor
  ) throws(StoreError) -> AttemptRecords? {
    nil
  }
}

/// The profile that a binding ticket is given to.
public struct HolderRecords: Sendable, Hashable {
  /// Version 0 if the profile is new.
  public var profile: ProfileRecord
  /// The profile's erasure mark: see `ProfileRecord.erasureMarkID`.
  public var erasureMark: ProfileRecord

  public init(profile: ProfileRecord, erasureMark: ProfileRecord) {
    self.profile = profile
    self.erasureMark = erasureMark
  }
}

public struct EnrolmentRecords: Sendable, Hashable {
  public var holder: HolderRecords
  /// Version 0 if the store has no record of it.
  public var device: DeviceRecord
  /// The active binding of this device in this application, of any profile.
  public var deviceBinding: BindingRecord?
  /// Active bindings of the profile in this application.
  public var activeBindingCount: Int
  /// The ticket was used before, or expires before the latest sweep.
  public var isTicketUsed: Bool

  public var profile: ProfileRecord {
    _read { yield holder.profile }
  }

  public init(
    holder: HolderRecords, device: DeviceRecord, deviceBinding: BindingRecord?, activeBindingCount: Int,
    isTicketUsed: Bool
  ) {
    self.holder = holder
    self.device = device
    self.deviceBinding = deviceBinding
    self.activeBindingCount = activeBindingCount
    self.isTicketUsed = isTicketUsed
  }
}

/// The requested events, and how much of the log they cover.
public struct EventPage: Sendable, Hashable {
  /// The most events, or index entries, that one read visits: some 3 ms, for which others wait.
  public static let maximumRows = 1_024

  public var events: [EventRecord]
  /// The page is complete up to this event: no other event up to it matches. On a full page, the last event in it; if
  /// the read ended before that, the last event that it visited; else the log's end at the read, which may be before
  /// `afterSequence`.
  public var through: UInt64
  /// The end of the log at the read.
  public var end: UInt64
  /// Events up to this one were archived and dropped: those after `afterSequence` are missing here.
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

/// Empty texts admit all events.
public struct EventFilter: Sendable, Hashable {
  /// If it is empty, `profileID` is ignored.
  public var applicationID: String
  public var profileID: String
  /// Prefixes of kinds; empty: all.
  public var kindPrefixes: [String]
  public var deviceID = ""
  public var bindingID = ""
  public var caller = ""
  /// The detail "reason".
  public var reason = ""
  /// The first time, and the one after the last.
  public var times: Range<UnixTime>?
  /// No read looks at an event after this one.
  public var through = UInt64.max

  public init(applicationID: String, profileID: String = "", kindPrefixes: [String] = []) {
    self.applicationID = applicationID
    self.profileID = profileID
    self.kindPrefixes = kindPrefixes
  }
}

extension EventFilter {
  /// An erased event matches only a filter without conditions, because what they are about is not known of it.
  public func includes(_ record: EventRecord) -> Bool {
    guard record.sequence <= through else { return false }
    guard let event = record.event else { return !hasConditions }
    return includes(kind: event.kind) && times?.contains(event.time) != false
      && admits(applicationID, event.applicationID) && (applicationID.isEmpty || admits(profileID, event.profileID))
      && admits(deviceID, event.deviceID) && admits(bindingID, event.bindingID) && admits(caller, event.caller)
      && (reason.isEmpty || event.details.contains(EventDetail(key: "reason", value: reason)))
  }

  public func includes(kind: String) -> Bool {
    kindPrefixes.isEmpty || kindPrefixes.contains { kind.utf8.starts(with: $0.utf8) }
  }

  /// Some events are left out, apart from those after `through`.
  package var hasConditions: Bool {
    times != nil || ![applicationID, deviceID, bindingID, caller, reason].allSatisfy(\.isEmpty) || !kindPrefixes.isEmpty
  }

  private func admits(_ wanted: String, _ found: String) -> Bool {
    wanted.isEmpty || Identifier.areEqual(wanted, found)
  }
}

public struct SweepResult: Sendable, Hashable {
  public var removedRows: Int
  /// More rows than one step takes are waiting.
  public var hasMore: Bool
  /// The mark: a key that expires earlier counts as used. It may be another process's.
  public var sweptBefore: UnixTime

  public init(removedRows: Int, hasMore: Bool, sweptBefore: UnixTime) {
    self.removedRows = removedRows
    self.hasMore = hasMore
    self.sweptBefore = sweptBefore
  }
}

/// Why a store could not complete a call.
public struct StoreError: Error, Sendable, Hashable {
  public enum Code: UInt8, Sendable, Hashable {
    /// A record changed since it was read: read anew, decide again.
    case conflict
    /// Not now: closed, disk full, out of reach, too many waiting. Nothing was written.
    case unavailable
    /// The outcome of a commit is unknown.
    case inDoubt
    /// A record that was read cannot be right.
    case corrupt
  }

  /// The operator's action without which the store does not work again.
  public enum Remedy: UInt8, Sendable, Hashable {
    case checkDiskAndRestart
    case restart
    case addAuditKey
  }

  public var code: Code
  /// `nil`: the failure passes by itself, or the caller caused it.
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
    /// No permission, a read-only disk, or no such place.
    case unwritable
    /// Other users can change it.
    case unprotected
    /// The database does not answer, or refuses us; perhaps later.
    case unreachable
    /// A newer or an older Touchstone wrote it, in a form that this version does not read.
    case otherSchema
    /// Not a database, another application's, or damaged.
    case corrupt
  }

  public var code: Code
  /// One line with the cause and the remedy.
  public var message: String

  public init(code: Code, message: String) {
    self.code = code
    self.message = message
  }
}
