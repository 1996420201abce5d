// The work of a service beside its calls, from its start to its stop.

internal import Logging
internal import TouchstoneService
internal import TouchstoneStore

/// The upkeep that begins before callers are served.
struct EarlyUpkeep: Sendable {
  let archiving: Archiving?
  let sweeping: Sweeping

  init(_ prepared: PreparedStart, _ parts: ServiceParts, on store: any Store, logger: Logger) throws(Failure) {
    let (meters, service, accountSigning) = (prepared.meters, parts.service, parts.accountSigning)
    archiving = try prepared.configuration.retention.map { settings throws(Failure) in
      try Archiving(store: store, settings: settings, logger: logger, observer: meters.archiving)
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
  private let early: EarlyUpkeep
  private let logVerifying: LogVerifying
  private let clockWatching: Repeating?

  var archiving: Archiving? { early.archiving }

  init(
    _ early: EarlyUpkeep, _ prepared: PreparedStart, _ parts: ServiceParts, on store: OpenStore,
    in process: StartedProcess
  ) {
    let (meters, logger) = (prepared.meters, process.logger)
    self.early = early
    trustWatching = TrustWatching(
      prepared.configuration.service.attestationTrust, store: store.store, clock: process.clock, logger: logger)
    logVerifying = LogVerifying(
      store: store.store, auditKeyring: parts.auditKeyring, logger: logger,
      observer: { meters.noteVerification(isIntact: $0) })
    clockWatching = store.clockDifference.map {
      ClockWatching.begin(difference: $0, logger: logger, noted: { meters.clockOffset.set($0.inSeconds) })
    }
  }

  func cancel() {
    early.sweeping.cancel()
    logVerifying.cancel()
    clockWatching?.cancel()
    trustWatching.cancel()
    early.archiving?.cancel()
  }
}
