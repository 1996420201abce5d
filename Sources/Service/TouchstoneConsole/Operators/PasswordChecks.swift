// Verifies operators' passwords on a thread of their own, one at a time.

internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstoneService

/// Bounds the memory of sign-ins (64 MiB each) and how many wait. The executor's thread yields to those that verify
/// passcodes.
final class PasswordChecks: Sendable {
  /// Waiting ones, of each kind. Each is a request that waits for its answer.
  static let maximumWaiting = 16

  enum Verdict: Sendable {
    case right
    case wrong
    /// Not verified.
    case busy
    case failed
  }

  private struct State {
    var running = 0
    /// Checks for browsers where the operator signed in before. They go first, so that no number of strangers keeps
    /// operators waiting.
    var familiar: [@Sendable () -> Void] = []
    var strangers: [@Sendable () -> Void] = []

    /// False: too many wait.
    mutating func add(_ check: @escaping @Sendable () -> Void, isFamiliar: Bool) -> Bool {
      guard (isFamiliar ? familiar : strangers).count < maximumWaiting else { return false }
      if isFamiliar { familiar.append(check) } else { strangers.append(check) }
      return true
    }

    mutating func takeNext() -> (@Sendable () -> Void)? {
      if !familiar.isEmpty { return familiar.removeFirst() }
      return strangers.isEmpty ? nil : strangers.removeFirst()
    }
  }

  private let executor: any SecretExecutor
  private let state = Mutex(State())

  /// Waiting ones of familiar browsers.
  var familiarCount: Int { state.withLock { $0.familiar.count } }

  init(executor: any SecretExecutor) {
    self.executor = executor
  }

  /// - Parameter isFamiliar: the operator signed in with this browser before (`BrowserProofs`).
  func verdict(on password: SecretBytes, by hash: PasswordHash, isFamiliar: Bool) async -> Verdict {
    switch await result(isFamiliar: isFamiliar, { () throws(CryptoError) in try hash.isRight(password) }) {
    case .success(let isRight): isRight ? .right : .wrong
    case .failure: .failed
    case nil: .busy
    }
  }

  /// Returns the hash of a signed-in operator's new password; `nil`: not now.
  func hash(_ password: SecretBytes, parameters: PasswordHasher.Parameters) async -> PasswordHash? {
    try? await result(isFamiliar: true) { () throws(CryptoError) in
      try PasswordHash.make(of: password, parameters: parameters)
    }?.get()
  }

  /// `nil`: too many wait.
  private func result<Value: Sendable>(
    isFamiliar: Bool, _ work: @escaping @Sendable () throws(CryptoError) -> Value
  ) async -> Result<Value, CryptoError>? {
    await withCheckedContinuation { continuation in
      let isAccepted = add(isFamiliar: isFamiliar) { [self] in
        continuation.resume(returning: Result(catching: work))
        ended()
      }
      if !isAccepted { continuation.resume(returning: nil) }
    }
  }

  private func add(isFamiliar: Bool, _ check: @escaping @Sendable () -> Void) -> Bool {
    let (isAccepted, runs) = state.withLock { state in
      if state.running < executor.threads {
        state.running += 1
        return (true, true)
      }
      return (state.add(check, isFamiliar: isFamiliar), false)
    }
    if runs { executor.run(check) }
    return isAccepted
  }

  private func ended() {
    let next = state.withLock { state -> (@Sendable () -> Void)? in
      guard let next = state.takeNext() else {
        state.running -= 1
        return nil
      }
      return next
    }
    if let next { executor.run(next) }
  }
}
