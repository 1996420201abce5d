// A flood of sign-ins takes bounded memory, and one thread at a time.

import Synchronization
import TestSupport
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

    func finishOne() {
      waiting.withLock { $0.removeFirst() }()
    }

    /// Also what the work adds.
    func finish() {
      while let work = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { work() }
    }
  }

  @Test("One runs for each thread, sixteen wait, and all others are refused at once")
  func bounds() async throws {
    let parameters = try #require(PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1))
    let password = SecretBytes("correct horse battery".utf8)
    let hash = try PasswordHash.make(of: password, parameters: parameters)
    let executor = ManualExecutor()
    let checks = PasswordChecks(executor: executor)
    let accepted = executor.threads + PasswordChecks.maximumWaiting
    let refused = 10
    try await withThrowingTaskGroup(of: PasswordChecks.Verdict.self) { group in
      for _ in 0..<accepted + refused {
        group.addTask { await checks.verdict(on: password, by: hash, isFamiliar: false) }
      }
      for _ in 0..<refused { #expect(try await group.next() == .busy) }
      #expect(executor.count == executor.threads)
      executor.finish()
      for _ in 0..<accepted { #expect(try await group.next() == .right) }
      // All places are free again.
      group.addTask { await checks.verdict(on: SecretBytes("wrong".utf8), by: hash, isFamiliar: false) }
      try await eventually { executor.count > 0 }
      executor.finish()
      #expect(try await group.next() == .wrong)
    }
  }

  @Test("However many strangers wait, an operator with a familiar browser is next")
  func familiarity() async throws {
    let parameters = try #require(PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1))
    let (password, guess) = (SecretBytes("correct horse battery".utf8), SecretBytes("wrong".utf8))
    let hash = try PasswordHash.make(of: password, parameters: parameters)
    let executor = ManualExecutor()
    let checks = PasswordChecks(executor: executor)
    let strangers = executor.threads + PasswordChecks.maximumWaiting
    try await withThrowingTaskGroup(of: (isOperator: Bool, verdict: PasswordChecks.Verdict).self) { group in
      for _ in 0...strangers {
        group.addTask { (false, await checks.verdict(on: guess, by: hash, isFamiliar: false)) }
      }
      // One too many: all places are taken.
      #expect(try await group.next()?.verdict == .busy)
      group.addTask { (true, await checks.verdict(on: password, by: hash, isFamiliar: true)) }
      try await eventually { checks.familiarCount > 0 }
      // One is running. Its end makes room for the operator, before sixteen that came earlier.
      for _ in 0..<2 { executor.finishOne() }
      var verdicts: [PasswordChecks.Verdict] = []
      for _ in 0..<2 {
        if let answer = try await group.next(), answer.isOperator { verdicts.append(answer.verdict) }
      }
      #expect(verdicts == [.right])
      executor.finish()
      for _ in 0..<strangers - 1 { #expect(try await group.next()?.verdict == .wrong) }
    }
  }
}
