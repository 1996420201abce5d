// Reads the configuration again, at a signal or after its files changed, and serves its policies, callers, certificates
// and keys from then on: all of them or none.

package import Logging
internal import TouchstonePolicy
internal import TouchstoneService
internal import TouchstoneStore

/// The reason why the configuration is read again.
enum ReloadCause: String, Sendable, CaseIterable {
  /// SIGHUP.
  case signal
  /// Files changed.
  case files
}

struct Reload {
  let service: RunningService
  /// The configuration in force.
  private(set) var served: ProcessConfiguration
  /// The files that the last reading considered, whether it was taken or refused, from before they were read.
  private(set) var files: FileSnapshot
  let logger: Logger

  init(service: RunningService, served: ProcessConfiguration, logger: Logger) {
    self.service = service
    self.served = served
    self.logger = logger
    files = service.files
    // The start may have made them.
    if served.mayMakeKeys { files.retake(ProcessConfiguration.keysSetting) }
  }

  /// `nil`: never.
  var lookInterval: Duration? {
    switch served.watchFiles {
    case .every(let interval): interval
    case .never: nil
    }
  }

  /// - Parameter read: reads the present configuration and applies the flags.
  mutating func run(because cause: ReloadCause, _ read: () throws(Failure) -> ProcessConfiguration) {
    let before = files
    files = files.takenAgain
    do throws(Failure) {
      let read = try read()
      files = read.files(served.tls)
      try serve(read, because: cause, files.settings(changedSince: before))
      service.meters.noteReload(because: cause, isDone: true)
    } catch {
      service.meters.noteReload(because: cause, isDone: false)
      for line in error.lines {
        logger.error("configuration refused, nothing changed", metadata: ["at": "\(line)", "cause": "\(cause)"])
      }
    }
  }

  private mutating func serve(
    _ read: ProcessConfiguration, because cause: ReloadCause, _ changedFiles: [String]
  ) throws(Failure) {
    try requireNothingVanished(from: read)
    let keys = try service.reload(read)
    service.log?.configure(read.log)
    let changes = PolicyChanges(from: served.service.policies, to: read.service.policies)
    var metadata = changes.metadata
    metadata["cause"] = "\(cause)"
    if !changedFiles.isEmpty { metadata["files"] = "\(changedFiles.joined(separator: ", "))" }
    metadata["keys"] = "\(keys)"
    if let callers = read.service.callers { metadata["callers"] = "\(callers.map(\.name).joined(separator: ", "))" }
    logger.notice("configuration reloaded", metadata: metadata)
    service.appendReloaded(because: cause, changedFiles)
    warnOfMoves(to: read.service.vendors)
    served.service.vendors = read.service.vendors
    served.service.policies = read.service.policies
    served.service.callers = read.service.callers
    served.service.applications = read.service.applications
    served.attestation = read.attestation
    served.watchFiles = read.watchFiles
    served.log = read.log
    let waiting = served.settingsOtherThan(in: read)
    if !waiting.isEmpty {
      logger.warning(
        "changed settings wait for a restart", metadata: ["settings": "\(waiting.joined(separator: ", "))"])
    }
  }
}

extension RunningService {
  /// The names of settings and nothing of their values: the log is for all auditors.
  fileprivate func appendReloaded(because cause: ReloadCause, _ changedFiles: [String]) {
    let event = EventDraft.ofOperator(
      "configuration.reloaded", at: systemTime(),
      changedFiles.isEmpty
        ? ["cause": cause.rawValue] : ["cause": cause.rawValue, "files": changedFiles.joined(separator: ", ")])
    store.append(event) { [logger] error in
      logger.warning("the audit log has no event of the reload", metadata: ["error": "\(error.message)"])
    }
  }
}

extension Reload {
  /// An emptied or half-written file must not open the service.
  private func requireNothingVanished(from read: ProcessConfiguration) throws(Failure) {
    var vanished: [(name: String, consequence: String)] = []
    if served.service.callers != nil, read.service.callers == nil {
      vanished.append(("section callers", "every process on this machine may call"))
    }
    if !served.service.applications.isEmpty, read.service.applications.isEmpty {
      vanished.append(("section applications", "no key needs a proof"))
    }
    let present = Set(read.attestation.namedFiles.map(\.setting))
    for (setting, _) in served.attestation.namedFiles where !present.contains(setting) {
      vanished.append(("setting \(setting)", AttestationFiles.consequence(without: setting)))
    }
    guard !vanished.isEmpty else { return }
    throw Failure(
      kind: .badConfiguration,
      messages: vanished.map { name, consequence in
        """
        the configuration has no \(name) any more, and without it \(consequence): put it back, or restart the service if \
        this is meant
        """
      })
  }
}

extension AttestationFiles {
  fileprivate static func consequence(without setting: String) -> String {
    switch setting {
    case rootsSetting: "Google's roots are trusted"
    case appleRootsSetting: "Apple's root is trusted"
    case revokedSetting: "revoked certificates count"
    case metadataSetting: "revoked authenticators count"
    case metadataRootsSetting: "GlobalSign's roots are trusted"
    default: "their certificates prove nothing"
    }
  }
}

extension Reload {
  fileprivate func warnOfMoves(to vendors: Vendors?) {
    guard let vendors, let earlier = served.service.vendors else { return }
    let moved = vendors.applications(movedSince: earlier)
    guard !moved.isEmpty else { return }
    logger.warning(
      "applications changed their vendor: their devices' failures and locks count for the old vendor only",
      metadata: ["applications": "\(moved.joined(separator: ", "))"])
  }
}

/// The names of the policies that changed.
private struct PolicyChanges {
  private var added: [String] = []
  /// Evaluations that began under them are void (R36).
  private var changed: [String] = []
  private var removed: [String] = []

  init(from old: [EvaluationPolicy], to new: [EvaluationPolicy]) {
    for policy in new {
      switch old.named(policy.name) {
      case nil: added.append(policy.name)
      case let before? where before.revision != policy.revision: changed.append(policy.name)
      case _?: break
      }
    }
    removed = old.filter { new.named($0.name) == nil }.map(\.name)
  }

  var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [:]
    for (kind, names) in [("added", added), ("changed", changed), ("removed", removed)] where !names.isEmpty {
      metadata[kind] = "\(names.joined(separator: ", "))"
    }
    return metadata
  }
}

/// What controls a running service. A process gets these events from signals, a test makes its own.
package enum ServiceEvent: Sendable {
  /// Read the configuration and the keys again.
  case reload
  /// No other event came in the time for which the service asked: look whether files changed.
  case look
  /// Take no more events; `RunningService.stop` is next.
  case stop
}

extension RunningService {
  /// Reloads at each `reload` and when files changed, and returns at the first `stop`.
  ///
  /// - Parameters:
  ///   - configuration: the one with which the service was started.
  ///   - next: waits for the next event, for no longer than the time that it gets, if it gets one.
  ///   - read: reads the present configuration and applies the flags.
  package func serve(
    _ configuration: ProcessConfiguration, logger: Logger, until next: (Duration?) -> ServiceEvent,
    reading read: () throws(Failure) -> ProcessConfiguration
  ) {
    var reload = Reload(service: self, served: configuration, logger: logger)
    var watch = FileWatch(considered: reload.files)
    while true {
      switch next(reload.lookInterval.map(watch.delay(within:))) {
      case .stop: return
      case .reload: reload.run(because: .signal, read)
      case .look:
        guard watch.looked(reload.files.takenAgain, at: .now) == .reload else { continue }
        reload.run(because: .files, read)
      }
      watch = FileWatch(considered: reload.files)
    }
  }
}
