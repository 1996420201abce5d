// Verifies operators' passwords on the threads that verify passcodes, a few at a time.

internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstoneService

/// Bounds the memory of sign-ins (64 MiB each), and how long passcodes wait behind them.
final class PasswordChecks: Sendable {
  /// At one time.
  static let maximumRunning = 2
  /// Waiting ones. Each is a request that waits for its answer.
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
    var waiting: [@Sendable () -> Void] = []
  }

  private let executor: any SecretExecutor
  private let state = Mutex(State())

  init(executor: any SecretExecutor) {
    self.executor = executor
  }

  func verdict(on password: SecretBytes, by hash: PasswordHash) async -> Verdict {
    await withCheckedContinuation { continuation in
      let isAccepted = add { [self] in
        do throws(CryptoError) {
          continuation.resume(returning: try hash.isRight(password) ? .right : .wrong)
        } catch {
          continuation.resume(returning: .failed)
        }
        ended()
      }
      if !isAccepted { continuation.resume(returning: .busy) }
    }
  }

  private func add(_ check: @escaping @Sendable () -> Void) -> Bool {
    let (isAccepted, runs) = state.withLock { state in
      if state.running < Self.maximumRunning {
        state.running += 1
        return (true, true)
      }
      guard state.waiting.count < Self.maximumWaiting else { return (false, false) }
      state.waiting.append(check)
      return (true, false)
    }
    if runs { executor.run(check) }
    return isAccepted
  }

  private func ended() {
    let next = state.withLock { state -> (@Sendable () -> Void)? in
      guard !state.waiting.isEmpty else {
        state.running -= 1
        return nil
      }
      return state.waiting.removeFirst()
    }
    if let next { executor.run(next) }
  }
}
