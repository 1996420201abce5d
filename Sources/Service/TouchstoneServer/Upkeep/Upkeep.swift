// The work of a service beside its calls, from its start to its stop.

internal import Dispatch
internal import Logging
internal import TouchstonePolicy
internal import TouchstoneService
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

/// The upkeep that begins before callers are served.
struct EarlyUpkeep: Sendable {
  let archiving: Archiving?
  let backingUp: BackingUp?
  let sweeping: Sweeping

  init(_ prepared: PreparedStart, _ parts: ServiceParts, on store: any Store, logger: Logger) throws(Failure) {
    let (meters, service, accountSigning) = (prepared.meters, parts.service, parts.accountSigning)
    archiving = try prepared.configuration.retention.map { settings throws(Failure) in
      try Archiving(store: store, settings: settings, logger: logger, meters: meters)
    }
    backingUp = try prepared.configuration.backup.flatMap { settings throws(Failure) in
      try (store as? SQLiteStore).map { store throws(Failure) in
        try BackingUp(store: store, settings: settings, keys: parts.auditKeyring, logger: logger, meters: meters)
      }
    }
    sweeping = try Sweeping(
      store: store, logger: logger,
      observer: Sweeping.Observer(
        begins: {
          accountSigning.look()
          store.eventChainHead { meters.noteHead($0) }
        },
        storeFailed: { service.storeFailed() }, clockChecked: { service.clockChecked(isUsable: $0) },
        ended: { meters.noteSweep(isDone: $0) }))
  }
}

/// All upkeep of a service.
struct Upkeep: Sendable {
  let trustWatching: TrustWatching
  let capacityWatching: CapacityWatching
  private let early: EarlyUpkeep
  private let logVerifying: Task<Void, Never>
  private let clockWatching: Repeating?

  init(
    _ early: EarlyUpkeep, _ prepared: PreparedStart, _ parts: ServiceParts, on store: any Store,
    in process: StartedProcess
  ) {
    let (meters, logger) = (prepared.meters, process.logger)
    self.early = early
    trustWatching = TrustWatching(
      prepared.configuration.service.attestationTrust, store: store, clock: process.clock, logger: logger)
    logVerifying = LogVerifying.begin(
      store: store, auditKeyring: parts.auditKeyring, logger: logger,
      observer: { meters.noteVerification(isIntact: $0) })
    capacityWatching = CapacityWatching(prepared.configuration, on: store)
    clockWatching = (store as? PostgresStore).map { store in
      ClockWatching.begin(
        difference: { store.clockDifference(completion: $0) }, logger: logger,
        noted: { meters.clockOffset.set($0.inSeconds) })
    }
  }

  func cancel() {
    early.sweeping.cancel()
    logVerifying.cancel()
    clockWatching?.cancel()
    trustWatching.cancel()
    capacityWatching.cancel()
    early.archiving?.cancel()
    early.backingUp?.cancel()
  }

  /// Calls `completion` when the upkeep that was cancelled has left the store.
  func whenIdle(_ completion: @escaping @Sendable () -> Void) {
    let afterBackup: @Sendable () -> Void = { [archiving = early.archiving] in
      guard let archiving else { return completion() }
      archiving.whenIdle(completion)
    }
    guard let backingUp = early.backingUp else { return afterBackup() }
    backingUp.whenIdle(afterBackup)
  }
}

/// Repeats work on a queue of its own until it is cancelled, so the work may wait for the store and the disk.
final class Repeating: Sendable {
  /// Its queue guards the timer. Cancelling is safe from any thread.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer
  let queue: DispatchQueue
  private let interval: DispatchTimeInterval

  /// - Parameter interval: in whole seconds.
  init(every interval: Duration, label: String, qos: DispatchQoS = .utility) {
    queue = DispatchQueue(label: "touchstone.\(label)", qos: qos)
    self.interval = .seconds(Int(interval.components.seconds))
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.activate()
  }

  /// - Parameter atOnce: otherwise the first run is after one interval.
  func begin(atOnce: Bool = false, _ work: @escaping @Sendable () -> Void) {
    timer.setEventHandler(handler: work)
    timer.schedule(deadline: atOnce ? .now() : .now() + interval, repeating: interval)
  }

  /// Begins no other run. One that runs goes on.
  func cancel() {
    timer.cancel()
  }
}

extension EventDraft {
  /// An event that upkeep writes for operators, as if the operator had called.
  static func ofOperator(_ kind: String, at time: UnixTime, _ details: KeyValuePairs<String, String>) -> EventDraft {
    EventDraft(
      time: time, kind: kind, applicationID: "", caller: "operator",
      details: details.map { EventDetail(key: $0.key, value: $0.value) })
  }
}

extension Store {
  /// Appends an event that belongs to no change. If that fails, the caller tries again with its next report.
  func append(_ event: EventDraft, orElse failed: @escaping @Sendable (StoreError) -> Void) {
    commit(ChangeSet(events: [event])) { result in
      if case .failure(let error) = result { failed(error) }
    }
  }
}
