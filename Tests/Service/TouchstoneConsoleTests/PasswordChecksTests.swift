// A flood of sign-ins takes bounded memory, and keeps passcodes waiting for two checks at most.

import Synchronization
import Testing
import TouchstoneCrypto
import TouchstoneService

@testable import TouchstoneConsole

@Suite("Checks of passwords")
struct PasswordChecksTests {
  /// Does its work when a test says so.
  private final class ManualExecutor: SecretExecutor {
    let threads = 1
    private let waiting = Mutex<[@Sendable () -> Void]>([])

    var count: Int { waiting.withLock { $0.count } }

    func run(_ work: @escaping @Sendable () -> Void) {
      waiting.withLock { $0.append(work) }
    }

    /// Also what the work adds.
    func finish() {
      while let work = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { work() }
    }
  }

  @Test("Two run, sixteen wait, and all others are refused at once")
  func bounds() async throws {
    let parameters = try #require(PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1))
    let password = SecretBytes("correct horse battery".utf8)
    let hash = try PasswordHash.make(of: password, parameters: parameters)
    let executor = ManualExecutor()
    let checks = PasswordChecks(executor: executor)
    let accepted = PasswordChecks.maximumRunning + PasswordChecks.maximumWaiting
    let refused = 10
    await withTaskGroup(of: PasswordChecks.Verdict.self) { group in
      for _ in 0..<accepted + refused { group.addTask { await checks.verdict(on: password, by: hash) } }
      for _ in 0..<refused { #expect(await group.next() == .busy) }
      #expect(executor.count == PasswordChecks.maximumRunning)
      executor.finish()
      for _ in 0..<accepted { #expect(await group.next() == .right) }
      // All places are free again.
      group.addTask { await checks.verdict(on: SecretBytes("wrong".utf8), by: hash) }
      while executor.count == 0 { await Task.yield() }
      executor.finish()
      #expect(await group.next() == .wrong)
    }
  }
}
