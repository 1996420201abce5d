// SIGHUP: the configuration is read anew, and the policies, callers, certificates and keys of it are served from then on. All
// or nothing.

internal import Logging
internal import TouchstonePolicy
internal import TouchstoneService

struct Reload {
  let service: RunningService
  /// What is in force.
  private(set) var served: ProcessConfiguration
  let logger: Logger

  init(service: RunningService, served: ProcessConfiguration, logger: Logger) {
    self.service = service
    self.served = served
    self.logger = logger
  }

  /// - Parameter read: the configuration as it is now, flags applied.
  mutating func run(_ read: () throws(Failure) -> ProcessConfiguration) {
    do throws(Failure) {
      try serve(try read())
    } catch {
      for line in error.lines { logger.error("configuration refused, nothing changed", metadata: ["at": "\(line)"]) }
    }
  }

  private mutating func serve(_ read: ProcessConfiguration) throws(Failure) {
    let keys = try service.reload(read)
    let changes = PolicyChanges(from: served.service.policies, to: read.service.policies)
    var metadata = changes.metadata
    metadata["keys"] = "\(keys)"
    if let callers = read.service.callers { metadata["callers"] = "\(callers.map(\.name).joined(separator: ", "))" }
    logger.notice("configuration reloaded", metadata: metadata)
    warnOfMoves(to: read.service.vendors)
    served.service.vendors = read.service.vendors
    served.service.policies = read.service.policies
    served.service.callers = read.service.callers
    let waiting = served.settingsOtherThan(in: read)
    if !waiting.isEmpty {
      logger.warning(
        "changed settings wait for a restart", metadata: ["settings": "\(waiting.joined(separator: ", "))"])
    }
  }
}

extension Reload {
  fileprivate func warnOfMoves(to vendors: Vendors?) {
    guard let vendors, let earlier = served.service.vendors else { return }
    let moved = vendors.applications(movedSince: earlier)
    guard !moved.isEmpty else { return }
    logger.warning(
      "applications changed their vendor: what was counted on their devices stays behind, locks included",
      metadata: ["applications": "\(moved.joined(separator: ", "))"])
  }
}

/// By name, which policies are other ones than before.
private struct PolicyChanges {
  private var added: [String] = []
  /// Evaluations that were begun under them are void (R36).
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

extension [EvaluationPolicy] {
  func named(_ name: String) -> EvaluationPolicy? {
    first { Identifier.areEqual($0.name, name) }
  }
}

extension ProcessConfiguration {
  /// The names of those that differ, apart from what is reloaded: nothing of them changes while the service runs.
  fileprivate func settingsOtherThan(in read: ProcessConfiguration) -> [String] {
    Key.allCases.filter { !isInForce($0, of: read) }.map(\.rawValue)
  }

  private func isInForce(_ key: Key, of read: ProcessConfiguration) -> Bool {
    switch key {
    case .listen: listen == read.listen
    case .tls: tls == read.tls
    case .limits: limits == read.limits
    case .reflection: service.servesReflection == read.service.servesReflection
    case .dataDirectory: dataDirectory == read.dataDirectory
    case .store: store == read.store
    case .retention: retention == read.retention
    case .shards: shards == read.shards
    case .issuer: service.issuer == read.service.issuer
    case .ticketLifetime: service.enrolment.ticketLifetime == read.service.enrolment.ticketLifetime
    // The lifetimes are what policies begin with.
    case .callers, .vendors, .keys, .policies, .evaluationLifetime, .tokenLifetime: true
    }
  }
}
