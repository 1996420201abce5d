// The kinds of events, of every process that writes to the log. A filter that names another one is a mistake.

package enum EventKinds {
  package static let all = [
    "evaluation.denied", "evaluation.succeeded", "evaluation.failed", "evaluation.locked_out", "evaluation.canceled",
    "evaluation.fallback", "evaluation.factor_required", "evaluation.refused", "evaluation.invalidated",
    "binding.created", "binding.revoked", "binding.denied", "binding.refused", "binding.domain_state_accepted",
    "secret.set", "secret.removed", "secret.unlocked", "secret.refused", "settings.changed", "token.consumed",
    "token.revoked", "token.refused", "device.unlocked", "device.refused", "device.shared", "profile.erased",
    "profile.refused", "profile.searched", "call.refused", "operator.signed_in", "operator.signed_out",
    "operator.changed", "backup.made", "backup.failed",
    "events.archived", "events.not_archived", "store.restored", "clock.behind", "configuration.reloaded",
    "trust.too_old", "log.signed", "log.broken",
  ]

  /// What their names begin with: "evaluation.".
  package static let groups = all.map { $0.prefix { $0 != "." } + "." }.reduce(into: [String]()) { groups, group in
    if groups.last != String(group) { groups.append(String(group)) }
  }
}
