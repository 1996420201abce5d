// Makes backups regularly, as long as the service runs.

internal import Dispatch
internal import Encodings
internal import Glibc
internal import Logging
internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstoneMetrics
internal import TouchstonePolicy
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

/// One backup at a time. A failed one leaves nothing behind, and the service goes on without it.
///
/// The copying runs on one queue and delays no commit. The verification runs on another queue, because it needs nothing
/// of the store, and a service that stops does not wait for it.
final class BackingUp: Sendable {
  private static let reminderInterval = Duration.seconds(24 * 60 * 60)

  private let store: SQLiteStore
  private let directory: String
  private let keys: AuditKeyring
  private let logger: Logger
  private let meters: ServerMeters
  private let copying: Repeating
  private let verifying = DispatchQueue(label: "touchstone.backup-verifier", qos: .utility)
  private let isRunning = Atomic<Bool>(false)
  private let isCancelled = Atomic<Bool>(false)
  private let plan: Mutex<BackupPlan>
  private let alarm = Mutex(Alarm(reminderInterval: reminderInterval))

  init(
    store: SQLiteStore, settings: BackupSettings, keys: AuditKeyring, logger: Logger, meters: ServerMeters
  ) throws(Failure) {
    (self.store, directory, self.keys, self.logger, self.meters) = (store, settings.directory, keys, logger, meters)
    let kept = try answer { store.backups(completion: $0) }
    plan = Mutex(BackupPlan(settings, kept: kept, at: systemTime()))
    if let last = kept.last { meters.note(last) }
    copying = Repeating(every: Archiving.interval(age: settings.interval), label: "backup", qos: .utility)
    meters.registry.observe(.backupOverdue) { [weak self] in
      self.map { [MetricSample($0.plan.withLock { $0.overdue(at: systemTime()) }.inSeconds)] } ?? []
    }
    copying.begin(atOnce: true) { [weak self] in self?.beginIfDue() }
  }

  /// Begins no other backup, and ends the copying. If the process ends during the verification, the next backup removes
  /// the copy.
  func cancel() {
    copying.cancel()
    isCancelled.store(true, ordering: .relaxed)
  }

  /// Calls `completion` when the store is not being read any more.
  func whenIdle(_ completion: @escaping @Sendable () -> Void) {
    copying.queue.async(execute: completion)
  }

  private func beginIfDue() {
    let now = systemTime()
    guard plan.withLock({ $0.isDue(at: now) }), !isRunning.exchange(true, ordering: .acquiringAndReleasing) else {
      return
    }
    let path = "\(directory)/\(BackupFiles.name(at: now))"
    do throws(StoreOpenError) {
      // Its parent must be there: a mount that is missing is no place for backups.
      mkdir(directory, 0o700)
      try BackupFiles.requireProtectedWay(to: path)
      let copy = try store.copy(to: path) { isCancelled.load(ordering: .relaxed) }
      verifying.async { self.finish(copy, path: path, madeAt: now) }
    } catch {
      failed(error)
      isRunning.store(false, ordering: .releasing)
    }
  }

  private func finish(_ copy: SQLiteCopy, path: String, madeAt: UnixTime) {
    defer { isRunning.store(false, ordering: .releasing) }
    var digest: [UInt8] = []
    do throws(StoreOpenError) {
      let summary = try copy.publish { copy throws(StoreOpenError) in
        digest = try BackupFiles.sign(copy, as: path, by: keys.current, at: systemTime()).digest
      }
      let name = BackupFiles.name(at: madeAt)
      made(BackupRecord(name: name, madeAt: madeAt, byteCount: summary.byteCount), summary, digest)
    } catch {
      failed(error)
      // Its own signature says nothing without the backup.
      if !digest.isEmpty, access(path, F_OK) != 0 { unlink(BackupFiles.signaturePath(of: path)) }
    }
  }

  private func made(_ backup: BackupRecord, _ summary: DatabaseSummary, _ digest: [UInt8]) {
    let surplus = plan.withLock { plan in
      plan.made(backup) { BackupFiles.isThere($0, in: directory) }
    }
    for old in surplus {
      if BackupFiles.remove("\(directory)/\(old.name)") {
        plan.withLock { $0.removed(old) }
      } else {
        let error = String(cString: strerror(errno))
        logger.warning("an old backup cannot be removed", metadata: ["file": "\(old.name)", "error": "\(error)"])
      }
    }
    alarm.withLock { $0.ended() }
    meters.note(backup)
    let (file, bytes) = ("\(directory)/\(backup.name)", "\(backup.byteCount)")
    logger.notice("a backup was made", metadata: ["file": "\(file)", "bytes": "\(bytes)"])
    let notNoted: @Sendable (StoreError) -> Void = { [logger] error in
      logger.warning("a backup could not be noted in the database", metadata: ["error": "\(error.message)"])
    }
    store.replaceBackups(by: plan.withLock { $0.kept }) { if case .failure(let error) = $0 { notNoted(error) } }
    let event = EventDraft.ofOperator(
      "backup.made", at: systemTime(),
      [
        "file": file, "bytes": bytes, "last_sequence": "\(summary.events.head.sequence)",
        "sha256": Hexadecimal.text(digest),
      ])
    store.append(event, orElse: notNoted)
  }

  private func failed(_ error: StoreOpenError) {
    guard !isCancelled.load(ordering: .relaxed) else { return }
    let now = systemTime()
    plan.withLock { $0.failed(at: now) }
    meters.noteBackupFailure()
    logger.error("a backup failed; earlier ones stay", metadata: ["error": "\(error.message)"])
    guard let report = alarm.withLock({ $0.failed(at: now) }), report.isNew else { return }
    let event = EventDraft.ofOperator(
      "backup.failed", at: now, ["error": error.message, "since": "\(report.since.seconds)"])
    store.append(event) { [self] _ in alarm.withLock { $0.notTold() } }
  }
}
