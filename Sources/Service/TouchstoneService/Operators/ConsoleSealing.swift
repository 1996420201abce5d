// What the console hands out sealed instead of storing it: a session, a sign-in under way.

package import TouchstonePolicy
internal import TouchstoneStore

/// Names one sealed thing of the console. It can be used up, once and for all replicas.
package struct ConsoleKey: Sendable, Hashable {
  let key: ExpiringKey

  package var expiresAt: UnixTime { key.expiresAt }
}

/// Keeps the sealed things apart: one opens as none of the others.
package enum ConsoleSeal: String, Sendable, CaseIterable {
  case session
  /// The password of a sign-in was right, and the passkey is next.
  case password
  /// A sign-in that an identity provider is to answer.
  case openID
}

extension TouchstoneService {
  package func newConsoleKey(lifetime: Duration) -> ConsoleKey {
    ConsoleKey(key: newKey(expiresAt: clock() + lifetime))
  }

  package func seal(_ content: [UInt8], _ key: ConsoleKey, as kind: ConsoleSeal) -> [UInt8] {
    keys.sealer.seal(content, key.key, as: kind, at: clock())
  }

  /// Returns `nil` for bytes that no key in force sealed as this kind. The thing may be over, or used up.
  package func open(_ sealed: [UInt8], as kind: ConsoleSeal) -> (key: ConsoleKey, content: [UInt8])? {
    keys.sealer.open(sealed, as: kind).map { (ConsoleKey(key: $0.key), $0.content) }
  }

  /// Whether its time is not over, and it was issued in the present database.
  package func isCurrent(_ key: ConsoleKey) -> Bool { key.expiresAt > clock() && key.key.isIssued(in: store.lineage) }
}
