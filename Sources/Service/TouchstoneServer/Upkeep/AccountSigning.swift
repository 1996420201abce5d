// Makes the store sign its accounts of removed content, from the start or from the time when an audit key is in use.

internal import Logging
internal import Synchronization
internal import TouchstoneStore

/// A first audit key may come with a reload, and become active later, for all replicas at once.
package final class AccountSigning: Sendable {
  private let store: any Store
  private let keyring: AuditKeyring
  private let logger: Logger
  /// The store has keys and one is in use, so there is nothing to do until the keys change.
  private let isSettled = Atomic<Bool>(false)

  /// Waits for the store.
  init(store: any Store, keyring: AuditKeyring, logger: Logger) throws(Failure) {
    self.store = store
    self.keyring = keyring
    self.logger = logger
    isSettled.store(keyring.signs(at: systemTime()), ordering: .relaxed)
    began(at: try answer { store.signAccounts(with: keyring.accountKeys, completion: $0) })
  }

  /// Called after the keys changed.
  func keysChanged() {
    isSettled.store(keyring.signs(at: systemTime()), ordering: .relaxed)
    sign()
  }

  /// Called repeatedly, because a key may have become active.
  func look() {
    guard !isSettled.load(ordering: .relaxed), keyring.signs(at: systemTime()),
      !isSettled.exchange(true, ordering: .relaxed)
    else { return }
    sign()
  }

  private func sign() {
    store.signAccounts(with: keyring.accountKeys) { [self] result in
      switch result {
      case .success(let first): began(at: first)
      case .failure(let error):
        isSettled.store(false, ordering: .relaxed)
        logger.error(
          "the event log.signed could not be appended to the audit log", metadata: ["error": "\(error.message)"])
      }
    }
  }

  private func began(at first: UInt64?) {
    guard let first else { return }
    logger.notice("\(Self.advice(first))", metadata: ["sequence": "\(first)"])
  }

  package static func advice(_ first: UInt64) -> String {
    "the audit log is signed from event \(first) on: note this number where the database's administrators cannot change it, "
      + "for `touchstone audit verify --signed-from`"
  }
}
