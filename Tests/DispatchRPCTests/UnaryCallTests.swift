// Our client against our server: what a unary call carries, and how it ends.

import Dispatch
import Synchronization
import Testing

@testable import DispatchRPC

@Suite(.timeLimit(.minutes(1))) struct UnaryCallTests {
  @Test(arguments: [0, 1, 5, 16_379, 16_384, 65_536, 300_000, 4 << 20])
  func carriesMessagesOfAnySize(_ count: Int) async throws {
    let client = try await Loopback().connect()
    let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let response = try await client.call("Echo", message)
    #expect(response.message == message)
  }

  @Test func carriesMetadataBothWays() async throws {
    let client = try await Loopback().connect()
    var metadata: Metadata = [("a", "1"), ("a", "2"), ("text", "printable ~ !")]
    metadata.append("bytes-bin", binary: [0, 255, 1])
    metadata.append("empty-bin", binary: [])
    let response = try await client.call("Echo", [], metadata)
    #expect(response.initialMetadata == metadata)
    #expect(response.trailingMetadata == metadata)
  }

  @Test func carriesErrorsWithTheirDetails() async throws {
    let client = try await Loopback().connect()
    let error = await failure { () throws(RPCError) in try await client.call("Fail") }
    #expect(error.code == .failedPrecondition)
    #expect(error.message == "grüße, 100 %\n")
    #expect(error.metadata.first("why") == "because")
    #expect(error.metadata.firstBinary("grpc-status-details-bin") == [0, 255, 7])
    #expect(!error.isUnprocessed)
  }

  @Test func anUnknownMethodIsUnimplemented() async throws {
    let client = try await Loopback().connect()
    let error = await failure { () throws(RPCError) in try await client.call("Nope") }
    #expect(error.code == .unimplemented)
  }

  @Test func manyCallsShareAConnection() async throws {
    let client = try await Loopback().connect()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<40 {
        group.addTask {
          for round in 0..<50 {
            let message = Array("\(worker) \(round)".utf8)
            let method = round.isMultiple(of: 2) ? "Echo" : "Later"
            try await client.expectEcho(message, by: method)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func onlyTheFirstAnswerCounts() async throws {
    let loopback = try Loopback { router in
      router.register("/test/Twice") { call, _ in
        call.respond([1])
        call.respond([2])
        DispatchQueue.global().async { call.fail(RPCError(code: .aborted, message: "third")) }
      }
    }
    let client = try await loopback.connect()
    for _ in 0..<100 { #expect(try await client.call("Twice").message == [1]) }
  }

  @Test func answersMadeAtTheEndOfAWakeUpAreSent() async throws {
    let waiting = Mutex<[RPCServerCall]>([])
    let answerAll: @Sendable (RPCShard) -> Void = { shard in
      let calls = waiting.withLock { calls in
        defer { calls.removeAll { $0.shard === shard } }
        return calls.filter { $0.shard === shard }
      }
      for call in calls { call.respond([]) }
    }
    let loopback = try Loopback(
      adding: { router in router.register("/test/Batch") { call, _ in waiting.withLock { $0.append(call) } } },
      onWakeUpEnd: answerAll)
    let client = try await loopback.connect()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<60 { group.addTask { _ = try await client.call("Batch") } }
      try await group.waitForAll()
    }
  }

  @Test func aHandlerRunsOnItsShardAndKnowsItsCaller() async throws {
    let loopback = try Loopback { router in
      router.register("/test/Who") { call, _ in
        call.respond([call.shard.isCurrent ? 1 : 0], initialMetadata: [("path", call.path), ("peer", call.peer.host)])
      }
    }
    let response = try await loopback.connect().call("Who")
    #expect(response.message == [1])
    #expect(response.initialMetadata == [("path", "/test/Who"), ("peer", "127.0.0.1")])
    #expect(!loopback.server.shards[0].isCurrent)
  }

  @Test func connectionsAreSpreadEvenly() async throws {
    var configuration = RPCServerConfiguration(shards: 3)
    configuration.maxConnections = 9
    let loopback = try Loopback(configuration) { router in
      router.register("/test/Shard") { call, _ in call.respond([UInt8(call.shard.index)]) }
    }
    var calls: [UInt8: Int] = [:]
    for _ in 0..<9 {
      let client = try await loopback.connect()
      calls[try await client.call("Shard").message[0], default: 0] += 1
    }
    #expect(calls == [0: 3, 1: 3, 2: 3])
  }
}
