// The counters of the process around the service.

internal import DispatchRPC
internal import Synchronization
package import TouchstoneMetrics
internal import TouchstonePolicy
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

/// The metrics of one process. Its parts get their counters from here.
package struct ServerMeters: Sendable {
  package let registry: MetricRegistry
  let clockOffset: LaterGauge
  private let archivedFiles: Counter
  private let archiveFailures: Counter
  private let archiveSuccess: LaterGauge
  private let backupFailures: Counter
  private let backupSuccess: LaterGauge
  private let backupSize: LaterGauge
  private let auditSequence: LaterGauge
  private let auditVerified: LaterGauge
  private let auditIntact: LaterGauge
  private let sweepsDone: Counter
  private let sweepsFailed: Counter
  private let sweepSuccess: LaterGauge
  private let reloads: [ReloadCause: (done: Counter, refused: Counter)]
  private let reloadSuccess: LaterGauge
  private let reloadRefusal = ReloadRefusal()
  private let batch: Histogram
  private let fsync: Histogram

  package init(registry: MetricRegistry = MetricRegistry()) {
    self.registry = registry
    archivedFiles = registry.counter(.archivedFiles)
    archiveFailures = registry.counter(.archiveFailures)
    archiveSuccess = LaterGauge(.archiveSuccess, registry)
    backupFailures = registry.counter(.backupFailures)
    backupSuccess = LaterGauge(.backupSuccess, registry)
    backupSize = LaterGauge(.backupSize, registry)
    auditSequence = LaterGauge(.auditSequence, registry)
    auditVerified = LaterGauge(.auditVerified, registry)
    auditIntact = LaterGauge(.auditIntact, registry)
    clockOffset = LaterGauge(.clockOffset, registry)
    sweepsDone = registry.counter(.sweeps, "done")
    sweepsFailed = registry.counter(.sweeps, "failed")
    sweepSuccess = LaterGauge(.sweepSuccess, registry)
    reloads = Dictionary(
      uniqueKeysWithValues: ReloadCause.allCases.map { cause in
        (
          cause,
          (registry.counter(.reloads, "done", cause.rawValue), registry.counter(.reloads, "refused", cause.rawValue))
        )
      })
    reloadSuccess = LaterGauge(.reloadSuccess, registry)
    registry.observe(.reloadRefused) { [reloadRefusal] in [MetricSample(reloadRefusal.age(at: .now()).inSeconds)] }
    batch = registry.histogram(.storeBatch)
    fsync = registry.histogram(.storeFsync)
  }

  // MARK: Observations by the parts of the process

  func noteReload(because cause: ReloadCause, isDone: Bool) {
    reloadRefusal.note(isRefused: !isDone, at: .now())
    if isDone { reloadSuccess.set(systemTime()) }
    let counters = reloads[cause]
    (isDone ? counters?.done : counters?.refused)?.increment()
  }

  func noteSweep(isDone: Bool) {
    (isDone ? sweepsDone : sweepsFailed).increment()
    if isDone { sweepSuccess.set(systemTime()) }
  }

  func noteVerification(isIntact: Bool) {
    auditIntact.set(isIntact ? 1 : 0)
    auditVerified.set(systemTime())
  }

  func noteHead(_ result: Result<EventChain.Head, StoreError>) {
    if case .success(let head) = result { auditSequence.set(Double(head.sequence)) }
  }

  func noteArchivedFile() {
    archivedFiles.increment()
  }

  /// A round ended, or failed. A round while another replica archives is neither.
  func noteArchiving(isDone: Bool) {
    if isDone { archiveSuccess.set(systemTime()) } else { archiveFailures.increment() }
  }

  /// The last good backup.
  func note(_ backup: BackupRecord) {
    backupSuccess.set(backup.madeAt)
    backupSize.set(Double(backup.byteCount))
  }

  func noteBackupFailure() {
    backupFailures.increment()
  }

  var storeObserver: StoreObserver {
    StoreObserver { [batch, fsync] changeSets, time in
      if changeSets > 0 { batch.record(Int64(changeSets)) }
      fsync.record(time.wholeNanoseconds)
    }
  }
}

/// Since when the files on disk have been refused, from the first refusal to the next reading that is taken.
private final class ReloadRefusal: Sendable {
  private let began = Mutex<MonotonicTime?>(nil)

  func note(isRefused: Bool, at now: MonotonicTime) {
    began.withLock { $0 = isRefused ? $0 ?? now : nil }
  }

  func age(at now: MonotonicTime) -> Duration {
    began.withLock { $0.map { now - $0 } } ?? .zero
  }
}

/// A gauge without a number until it is set: 0 would be the year 1970, or a log that is not intact.
struct LaterGauge: Sendable {
  private let family: MetricFamily
  private let registry: MetricRegistry

  init(_ family: MetricFamily, _ registry: MetricRegistry) {
    (self.family, self.registry) = (family, registry)
  }

  /// Rarely: it takes the registry's lock.
  func set(_ number: Double) {
    registry.gauge(family).set(number)
  }

  func set(_ time: UnixTime) {
    set(time.inSeconds)
  }
}

extension UnixTime {
  /// Seconds since 1970, with their fraction.
  var inSeconds: Double { Double(microseconds) / 1e6 }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
