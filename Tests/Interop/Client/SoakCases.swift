// Many large calls, one after the other.

import DispatchRPC
import InteropSupport

/// As the flags of the same names in interop-test-descriptions.md.
struct SoakLimits: Sendable {
  var iterations: Int
  var maxFailures: Int
  var maxLatency: Duration
  var overallTimeout: Duration

  static let flags: Set<String> = [
    "soak_iterations", "soak_max_failures", "soak_per_iteration_max_acceptable_latency_ms",
    "soak_overall_timeout_seconds",
  ]

  init(_ flags: Flags) throws(Flags.Fault) {
    iterations = try flags.number("soak_iterations", default: 10)
    maxFailures = try flags.number("soak_max_failures", default: 0)
    let latency: Int = try flags.number("soak_per_iteration_max_acceptable_latency_ms", default: 1000)
    maxLatency = .milliseconds(latency)
    overallTimeout = .seconds(
      try flags.number("soak_overall_timeout_seconds", default: max(1, latency * iterations / 1000)))
  }
}

enum SoakCases {
  static func oneChannel(_ client: TestClient) async throws {
    try await soak(client) { try await UnaryCases.callLarge(client.channel) }
  }

  /// Making the channel counts as part of the call.
  static func channelForEach(_ client: TestClient) async throws {
    try await soak(client) {
      let channel = client.makeChannel()
      try await UnaryCases.callLarge(channel)
      await channel.close()
    }
  }

  private static func soak(_ client: TestClient, _ call: () async throws -> Void) async throws {
    let limits = client.soak
    let end = MonotonicTime.now().advanced(by: limits.overallTimeout)
    var failures: [String] = []
    for iteration in 0..<limits.iterations {
      let start = MonotonicTime.now()
      guard start < end else { throw CaseFailure("out of time after \(iteration) of \(limits.iterations) calls") }
      let failure = await attempt(call)
      let elapsed = start.duration(to: .now())
      let verdict = failure ?? (elapsed > limits.maxLatency ? "too slow" : nil)
      if let verdict { failures.append("iteration \(iteration), \(verdict) after \(elapsed)") }
      say(
        "soak iteration: \(iteration) elapsed_ms: \(Int(elapsed / .milliseconds(1))) peer: \(client.target) "
          + (verdict.map { "failed: \($0)" } ?? "succeeded"))
    }
    guard failures.count <= limits.maxFailures else {
      throw CaseFailure("\(failures.count) calls failed, the first: \(failures[0])")
    }
  }

  private static func attempt(_ call: () async throws -> Void) async -> String? {
    do {
      try await call()
      return nil
    } catch {
      return "\(error)"
    }
  }
}
