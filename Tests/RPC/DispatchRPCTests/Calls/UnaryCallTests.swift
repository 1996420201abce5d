// Our client against our server: what a unary call carries, and how it ends.

import Dispatch
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct UnaryCallTests {
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
    let error = await client.failure("Fail")
    #expect(error.code == .failedPrecondition)
    #expect(error.message == "grüße, 100 %\n")
    #expect(error.metadata.first("why") == "because")
    #expect(error.metadata.firstBinary("grpc-status-details-bin") == [0, 255, 7])
    #expect(!error.isUnprocessed)
  }

  @Test(arguments: [10, 100_000])
  func theStatusArrivesHoweverMuchComesWithIt(_ count: Int) async throws {
    let loopback = try Loopback { router in
      router.register("/test/FailAtLength") { call, _ in
        var metadata: Metadata = [("why", "because")]
        metadata.append("grpc-status-details-bin", binary: [UInt8](repeating: 7, count: count))
        metadata.append("large", String(repeating: "x", count: count))
        metadata.append("small", "fits")
        call.fail(RPCError(code: .aborted, message: String(repeating: "ü", count: count), metadata: metadata))
      }
    }
    let client = try await loopback.connect()
    let error = await client.failure("FailAtLength")
    #expect(error.code == .aborted)
    #expect(error.message == String(repeating: "ü", count: min(count, 512)))
    let names = error.metadata.entries.map(\.name)
    #expect(names == (count == 10 ? ["why", "grpc-status-details-bin", "large", "small"] : ["why", "small"]))
  }

  @Test func metadataBeyondTheLimitIsLeftOutOfAnAnswer() async throws {
    let loopback = try Loopback { router in
      router.register("/test/Verbose") { call, message in
        let metadata: Metadata = [("large", String(repeating: "x", count: 100_000)), ("small", "fits")]
        call.respond(Array(message), initialMetadata: metadata, trailingMetadata: metadata)
      }
    }
    let response = try await loopback.connect().call("Verbose", [5])
    #expect(
      response == RPCResponse(message: [5], initialMetadata: [("small", "fits")], trailingMetadata: [("small", "fits")])
    )
  }

  @Test func anUnknownMethodIsUnimplemented() async throws {
    let client = try await Loopback().connect()
    let error = await client.failure("Nope")
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
    let client = try await Loopback(batching: RPCServerConfiguration(eventLoops: 2)).connect()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<60 { group.addTask { _ = try await client.call("Batch") } }
      try await group.waitForAll()
    }
  }

  @Test func aWakeUpDoesNotEndBeforeTheRequestsThatItsWriteMadeRoomFor() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 1)
    // The second request of a read waits until the first one's answer is written; nothing else wakes the server.
    configuration.maxBufferedResponseBytesPerConnection = 0
    configuration.housekeepingInterval = .seconds(60)
    configuration.handshakeTimeout = .seconds(60)
    let loopback = try Loopback(batching: configuration)
    let peer = RawPeer(loopback.address)
    _ = await peer.exchange(Frame.preface) { $0.contains { $0.type == 4 && $0.isAcknowledgement } }
    let requests =
      Frame.request(1, "/test/Echo", [0, 0, 0, 0, 1, 9])
      + Frame.request(3, "/test/Batch")
    let frames = await peer.exchange(requests) { $0.contains { $0.ends(3) } }
    #expect(frames.filter { $0.flags & Frame.endStream != 0 }.map(\.stream) == [1, 3])
  }

  @Test func aHandlerRunsOnItsEventLoopAndKnowsItsCaller() async throws {
    let loopback = try Loopback { router in
      router.register("/test/Where") { call, _ in
        call.respond(
          [call.loop.isCurrent ? 1 : 0], initialMetadata: [("path", call.path), ("peer", call.peer.address.host)])
      }
    }
    let response = try await loopback.connect().call("Where")
    #expect(response.message == [1])
    #expect(response.initialMetadata == [("path", "/test/Where"), ("peer", "127.0.0.1")])
    #expect(!loopback.server.eventLoops[0].isCurrent)
  }

  @Test func connectionsAreSpreadEvenly() async throws {
    var configuration = RPCServerConfiguration(eventLoops: 3)
    configuration.maxConnections = 9
    let loopback = try Loopback(configuration) { router in
      router.register("/test/EventLoop") { call, _ in call.respond([UInt8(call.loop.index)]) }
    }
    var calls: [UInt8: Int] = [:]
    for _ in 0..<9 {
      let client = try await loopback.connect()
      calls[try await client.call("EventLoop").message[0], default: 0] += 1
    }
    #expect(calls == [0: 3, 1: 3, 2: 3])
  }
}

extension Loopback {
  /// With a method `Batch` that an event loop answers for all its callers at the end of a round.
  fileprivate convenience init(batching configuration: RPCServerConfiguration) throws {
    let waiting = Box<RPCServerCall>()
    try self.init(
      configuration, adding: { router in router.register("/test/Batch") { call, _ in waiting.put(call) } },
      onRoundEnd: { loop in
        for call in waiting.take(where: { $0.loop === loop }) { call.respond([]) }
      })
  }
}
