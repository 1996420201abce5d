// The bytes that a client connection's calls hold unread; they give them back however they end.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct UnreadBudgetTests {
  private static let limit = 64 << 10
  private static let part = [UInt8](repeating: 7, count: 16_000)

  private var configuration: RPCClientConfiguration {
    .with { $0.maxUnreadBytesPerConnection = Self.limit }
  }

  /// A message as long as all that may be held: it only has room where nothing else is.
  private static func largest(_ stream: UInt32) -> [Frame] {
    let quarter = [UInt8](repeating: 1, count: limit / 4)
    let frames = [Frame.data(stream, [0, 0, 1, 0, 0])] + (0..<4).map { _ in Frame.data(stream, quarter) }
    return [.responseHead(stream)] + frames + [.trailers(stream)]
  }

  @Test func cancelledCallsGiveBackWhatTheyHold() async throws {
    let isHalfHere = Box<Void>()
    let server = try ScriptedServer { connection in
      for _ in 0..<10 {
        let stream = connection.nextCall()
        connection.send(.responseHead(stream), .data(stream, [0, 0, 1, 0, 0] + Self.part), .ping())
        // The client answers a PING after it has read what came before.
        connection.next { $0.type == Frame.pingType }
        isHalfHere.put(())
        connection.next { $0.type == Frame.resetType }
      }
      connection.send(Self.largest(connection.nextCall()))
    }
    let client = try await server.connect(configuration)
    for _ in 0..<10 {
      let ended = Box<RPCCode?>()
      let call = client.connection.start(RPCClientRequest(path: "/test/Any", message: [])) { result in
        if case .failure(let error) = result { ended.put(error.code) } else { ended.put(nil) }
      }
      await isHalfHere.next()
      call.cancel()
      #expect(await ended.next() == .cancelled)
    }
    #expect(try await client.call("Any").message.count == Self.limit)
  }

  @Test func callsWithTooManyMessagesGiveBackWhatTheyHold() async throws {
    let server = try ScriptedServer { connection in
      for _ in 0..<10 {
        let stream = connection.nextCall()
        connection.send(.responseHead(stream), .message(stream, Self.part), .message(stream, []))
        connection.next { $0.type == Frame.resetType }
      }
      connection.send(Self.largest(connection.nextCall()))
    }
    let client = try await server.connect(configuration)
    for _ in 0..<10 { #expect(await client.code(of: "Any") == .internalError) }
    #expect(try await client.call("Any").message.count == Self.limit)
  }

  @Test func oneCallTooManyFailsOneCall() async throws {
    let server = try ScriptedServer { connection in
      let streams = (0..<5).map { _ in connection.nextCall() }
      for stream in streams {
        // All but the last byte.
        let length = Self.part.count + 1
        let prefix = [0, 0, 0, UInt8(length >> 8), UInt8(truncatingIfNeeded: length)]
        connection.send(.responseHead(stream), .data(stream, prefix + Self.part))
      }
      for stream in streams { connection.send(.data(stream, [7]), .trailers(stream)) }
    }
    let client = try await server.connect(configuration)
    let codes = await withTaskGroup(of: RPCCode.self) { group in
      for _ in 0..<5 { group.addTask { await client.code(of: "Any") } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.count { $0 == .ok } == 4)
    #expect(codes.count { $0 == .resourceExhausted } == 1)
  }

  @Test func whoIsSlowToReadWhatHasEndedMakesRoomForTheOthers() async throws {
    let server = try ScriptedServer { connection in
      let slow = connection.nextCall()
      connection.send(.responseHead(slow))
      for _ in 0..<4 { connection.send(.message(slow, Self.part)) }
      connection.send(.trailers(slow))
      connection.send(Self.largest(connection.nextCall()))
    }
    let client = try await server.connect(configuration)
    let slow = client.open("Any", demand: nil)
    #expect(await slow.seen.next() == .initialMetadata([]))
    #expect(try await client.call("Any").message.count == Self.limit)
    #expect(await slow.errorCode() == .resourceExhausted)
  }
}
