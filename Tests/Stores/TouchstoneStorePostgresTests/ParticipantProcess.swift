import TestSupport
import Dispatch
import Glibc
import StoreConformance
import Testing

/// A process that has its share of a check's participants (`Tests/Support/StoreParticipants`).
final class ParticipantProcess: Sendable {
  private let process: ChildProcess
  /// For what blocks: no place for it on the tasks' threads.
  private let queue = DispatchQueue(label: "touchstone.tests.participants")

  /// Beside this test's own program.
  private static let program: String? = {
    guard let itself = realpath("/proc/self/exe", nil) else { return nil }
    defer { free(itself) }
    let path = String(cString: itself)
    return path.lastIndex(of: "/").map { path[...$0] + "store-participants" }
  }()

  init(_ check: StoreConformance.ParallelCheck, number: Int, of count: Int, at uri: String) throws {
    let program = try #require(Self.program)
    process = try ChildProcess(
      [program, check.name, "\(number)", "\(count)"], variables: ["TOUCHSTONE_STORE=\(uri)"])
  }

  /// Returns when it waits for `begin()`.
  func isReady() async throws {
    let said = await blocking { process in process.read() }
    guard String(decoding: said, as: UTF8.self) == "ready\n" else {
      throw Failure(message: "a process is not ready: \(String(decoding: said, as: UTF8.self))")
    }
  }

  func begin() {
    process.closeInput()
  }

  func outcomes() async throws -> StoreConformance.ParallelCheck.Outcomes {
    let (said, status) = await blocking { process in (process.readToEnd(), process.waitUntilExit()) }
    let text = String(decoding: said, as: UTF8.self)
    guard status == 0 else { throw Failure(message: "a process ended with \(status): \(text)") }
    return text.split(separator: "\n").reduce(into: [:]) { outcomes, line in
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      if let number = Int(parts[0]), parts.count == 2 { outcomes[number] = String(parts[1]) }
    }
  }

  private struct Failure: Error {
    let message: String
  }

  private func blocking<Value: Sendable>(_ body: @escaping @Sendable (ChildProcess) -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      queue.async { [process] in continuation.resume(returning: body(process)) }
    }
  }
}
