// A service in this process: it starts, answers, reloads and drains.

import TestSupport
import Testing
import TouchstoneClient
import TouchstoneCodec

@testable import TouchstoneServer

@Suite("A running service", .serialized)
struct RunningServiceTests {
  private static func client(of process: TestProcess) -> TouchstoneClient {
    TouchstoneClient(configuration: TouchstoneClientConfiguration(target: "\(process.address)"))
  }

  /// Whether the service knows a policy.
  private static func knows(_ policy: String, _ client: TouchstoneClient) async throws -> Bool {
    do throws(TouchstoneError) {
      _ = try await client.canEvaluatePolicy(
        V1.CanEvaluatePolicyRequest(
          applicationID: "com.example.bank", policy: policy,
          posture: V1.DevicePosture(platform: "ios", osVersion: "17.0")))
      return true
    } catch {
      try #require(error.code == .invalidArgument, "\(error)")
      return false
    }
  }

  @Test("It answers, takes a reload, refuses a wrong one as a whole, and drains")
  func life() async throws {
    try await withTemporaryDirectory { directory in
      let process = try await TestProcess.start(in: directory, "policies: {first: \(finger)}")
      let client = Self.client(of: process)
      #expect(try await Self.knows("first", client))
      #expect(try await !Self.knows("second", client))

      let taken = try await process.reload("policies: {second: \(finger)}")
      #expect(taken.text.contains("added=second") && taken.text.contains("removed=first"))
      #expect(try await Self.knows("second", client))
      #expect(try await !Self.knows("first", client))

      let refused = try await process.reload("policies: {third: \(finger), fourth: {}}")
      #expect(refused.text.contains("configuration refused, nothing changed at=\(directory)/touchstone.yaml:1:"))
      #expect(try await Self.knows("second", client))
      #expect(try await !Self.knows("third", client))

      await client.close()
      await process.stop()
      #expect(process.log.lines.contains { $0.text.contains("closed the store commits=") })
      // The lock of the data directory is free.
      let again = try await TestProcess.start(in: directory)
      await again.stop()
    }
  }

  @Test("A second service on the data directory is refused, and the first one goes on")
  func locked() async throws {
    try await TestProcess.run { process, directory in
      let failure = await #expect(throws: Failure.self) { _ = try await TestProcess.start(in: directory) }
      #expect(failure?.kind == .lockedData)
      let client = Self.client(of: process)
      let isServing = try await Self.knows("login", client)
      #expect(isServing)
      await client.close()
    }
  }

  private let finger = "{purpose: login, factors: [biometry]}"
}
