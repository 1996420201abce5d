// Calls in gzip (grpc/grpc doc/compression.md): who compresses what, what is refused, and what it may cost.

import Synchronization
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.timeLimit(.minutes(1))) struct CompressionTests {
  @Test(
    "A message is compressed where its sender wants it and its reader takes it", arguments: [false, true],
    [(false, false), (false, true), (true, false), (true, true)])
  func unary(request: Bool, answer: (accepted: Bool, wanted: Bool)) async throws {
    let client = try await compressing(accepting: answer.accepted)
    let response = try await client.call(
      answer.wanted ? "Gzip" : "Plain", Self.large, compression: request ? .gzip : .identity)
    #expect(response.message == Self.large)
    #expect(response.messageWasCompressed == (answer.accepted && answer.wanted))
    #expect(response.trailingMetadata.first("was-compressed") == "\(request)")
  }

  @Test func whatDoesNotShrinkIsSentAsItIs() async throws {
    let client = try await compressing(accepting: true)
    for message in [[], [1], [1, 2, 3]] as [[UInt8]] {
      let response = try await client.call("Gzip", message, compression: .gzip)
      #expect(response.message == message)
      #expect(!response.messageWasCompressed)
      #expect(response.trailingMetadata.first("was-compressed") == "false")
    }
  }

  @Test("Each message of a stream may be sent as it is", arguments: [false, true])
  func streams(accepting: Bool) async throws {
    let client = try await compressing(accepting: accepting)
    let (seen, ended) = (Box<Bool>(), Box<Result<Metadata, RPCError>>())
    let stream = client.connection.openStream("/stream/Mirror", compression: .gzip) { stream, event in
      switch event {
      case .message(let bytes) where bytes.count == Self.large.count: seen.put(stream.messageWasCompressed)
      case .message, .initialMetadata, .writable: break
      case .end(let end): ended.put(end)
      }
    }
    stream.request(.max)
    let flags = [true, false, false, true, true, false]
    for flag in flags { stream.send(Self.large, compressed: flag) }
    stream.finishSending()
    let end = try await ended.next().get()
    #expect(end.first("were-compressed") == "\(flags)")
    for flag in flags { #expect(await seen.next() == (accepting && flag)) }
  }

  @Test("Limits hold after inflation, in calls and streams")
  func requestLimit() async throws {
    let loopback = try Loopback(.with { $0.maxRequestMessageBytes = 100_000 })
    let client = try await loopback.connect()
    let (fits, exceeds) = ([UInt8](repeating: 0, count: 100_000), [UInt8](repeating: 0, count: 100_001))
    #expect(try await client.call("Echo", fits, compression: .gzip).message == fits)
    let error = await client.failure("Echo", exceeds, compression: .gzip)
    #expect(error.code == .resourceExhausted)
    let stream = client.open("Total", compression: .gzip)
    stream.stream.send(fits)
    stream.stream.send(exceeds)
    stream.stream.finishSending()
    #expect(await stream.errorCode() == .resourceExhausted)
  }

  @Test func responseLimitHoldsAfterInflation() async throws {
    var configuration = RPCClientConfiguration()
    configuration.acceptsCompression = true
    configuration.maxResponseMessageBytes = 100_000
    let client = try await Self.loopback().connect(configuration)
    let (fits, exceeds) = ([UInt8](repeating: 0, count: 100_000), [UInt8](repeating: 0, count: 100_001))
    #expect(try await client.call("Gzip", fits).messageWasCompressed)
    let error = await client.failure("Gzip", exceeds)
    #expect(error.code == .resourceExhausted)
  }

  @Test("What waits to be sent counts as it is sent")
  func quota() async throws {
    let loopback = try Loopback()
    let client = try await loopback.connect(.with { $0.maxBufferedRequestBytesPerStream = 64 << 10 })
    let stream = client.open("Total", compression: .gzip)
    // Thirty times the limit, were it not compressed; the loop takes each before the next is sent.
    for _ in 0..<30 {
      stream.stream.send([UInt8](repeating: 0, count: 60 << 10))
      await client.onLoop()
    }
    stream.stream.finishSending()
    #expect(await stream.rest().messages == [Array("\(30 * 60 << 10)".utf8)])
  }

  @Test("Who sends bombs has one inflated, then the others have their turn", .serialized, arguments: [true, false])
  func turns(unary: Bool) async throws {
    let (sizes, rounds) = (Box<Int>(), Box<[Int]>())
    let loopback = try Loopback(
      adding: { router in
        router.register("/test/Bomb") { call, message in
          sizes.put(message.count)
          call.respond([])
        }
        router.registerBidirectional("/stream/Bombs") { stream in
          stream.request(.max)
          return { stream, event in
            switch event {
            case .message(let bytes): sizes.put(bytes.count)
            case .end: stream.finish()
            case .writable: break
            }
          }
        }
      },
      onRoundEnd: { _ in rounds.put(sizes.take()) })
    let client = try await loopback.connect()
    let bomb = [UInt8](repeating: 0, count: 1 << 20)
    if unary {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { _ = try await client.call("Bomb", bomb, compression: .gzip) } }
        try await group.waitForAll()
      }
    } else {
      let stream = client.open("Bombs", compression: .gzip)
      for _ in 0..<8 {
        stream.stream.send(bomb)
        await client.onLoop()
      }
      stream.stream.finishSending()
      _ = try await stream.rest().end.get()
    }
    let all = rounds.take { !$0.isEmpty }
    #expect(all == [[Int]](repeating: [1 << 20], count: 8))
  }

  private static let large = [UInt8](repeating: 42, count: 50_000)

  private func compressing(accepting: Bool) async throws -> TestClient {
    return try await Self.loopback().connect(.with { $0.acceptsCompression = accepting })
  }

  /// `Plain` and `Gzip` echo; `Mirror` does it message by message, compressed where the message was.
  static func loopback() throws -> Loopback {
    try Loopback { router in
      for (name, compression) in [("Plain", RPCCompression.identity), ("Gzip", .gzip)] {
        router.register("/test/\(name)") { call, message in
          call.respond(
            Array(message), trailingMetadata: [("was-compressed", "\(call.messageWasCompressed)")],
            compression: compression)
        }
      }
      router.registerBidirectional("/stream/Mirror") { stream in
        let flags = Box<Bool>()
        stream.sendInitialMetadata([], compression: .gzip)
        stream.request(.max)
        return { stream, event in
          switch event {
          case .message(let bytes):
            flags.put(stream.messageWasCompressed)
            stream.send(Array(bytes), compressed: stream.messageWasCompressed)
          case .end:
            stream.finish(trailingMetadata: [("were-compressed", "\(flags.take())")])
          case .writable:
            break
          }
        }
      }
    }
  }
}

/// Requests that our own client would never send.
@Suite(.timeLimit(.minutes(1))) struct CompressedRequestTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var encodings: [String]
    var body: [UInt8]
    var status: String
  }

  private static let cases = [
    Case(testDescription: "plain", encodings: [], body: message([7]), status: "0"),
    Case(testDescription: "plain, in gzip", encodings: ["gzip"], body: message([7]), status: "0"),
    Case(testDescription: "plain, in identity", encodings: ["identity"], body: message([7]), status: "0"),
    Case(testDescription: "in gzip", encodings: ["gzip"], body: message(text, flag: 1), status: "0"),
    Case(testDescription: "nothing, in gzip", encodings: ["gzip"], body: message([], flag: 1), status: "0"),
    Case(testDescription: "marked, but in nothing", encodings: [], body: message(text, flag: 1), status: "13"),
    Case(testDescription: "marked in identity", encodings: ["identity"], body: message(text, flag: 1), status: "13"),
    Case(testDescription: "no gzip", encodings: ["gzip"], body: message([1, 2, 3], flag: 1), status: "13"),
    Case(testDescription: "cut", encodings: ["gzip"], body: message(text.dropLast(), flag: 1), status: "13"),
    Case(testDescription: "more after it", encodings: ["gzip"], body: message(text + [0], flag: 1), status: "13"),
    Case(testDescription: "two members", encodings: ["gzip"], body: message(text + text, flag: 1), status: "13"),
    Case(testDescription: "a bomb", encodings: ["gzip"], body: message(bomb, flag: 1), status: "8"),
    Case(testDescription: "in deflate", encodings: ["deflate"], body: message(text, flag: 1), status: "12"),
    Case(testDescription: "plain, in deflate", encodings: ["deflate"], body: message([7]), status: "12"),
    Case(testDescription: "in two", encodings: ["gzip", "identity"], body: message(text, flag: 1), status: "13"),
  ]

  @Test(arguments: cases, ["/test/Echo", "/stream/Chat"])
  func isAnswered(_ given: Case, path: String) async throws {
    let loopback = try Loopback()
    let fields = Frame.call(path) + given.encodings.map { ("grpc-encoding", $0) }
    let request = Frame.headers(1, fields).bytes + data(given.body, flags: Frame.endStream).flatMap(\.bytes)
    let frames = await RawPeer(loopback.address).exchange(Frame.preface + request) {
      $0.contains { $0.ends(1) }
    }
    let answer = try #require(HeaderReader.fields(of: frames.filter { $0.stream == 1 }))
    #expect(answer["grpc-status"] == given.status)
    // For whoever speaks of encodings, and never the one that was refused.
    #expect(answer["grpc-accept-encoding"] == (given.encodings.isEmpty ? nil : "identity,gzip"))
  }

  private static let text = Gzip().deflate(Array("again and again and again and again and again".utf8))!
  private static let bomb = Gzip().deflate([UInt8](repeating: 0, count: 6 << 20))!
}

/// Responses that our own server would never send.
@Suite(.timeLimit(.minutes(1))) struct CompressedResponseTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var encoding: String?
    var body: [UInt8]
    var isOffered = true
    var code: RPCCode
  }

  private static let cases = [
    Case(testDescription: "plain", encoding: nil, body: message([7]), code: .ok),
    Case(testDescription: "plain, in something", encoding: "snappy", body: message([7]), code: .ok),
    Case(testDescription: "in gzip", encoding: "gzip", body: message(text, flag: 1), code: .ok),
    Case(
      testDescription: "in gzip, unasked", encoding: "gzip", body: message(text, flag: 1), isOffered: false,
      code: .internalError),
    Case(testDescription: "marked, but in nothing", encoding: nil, body: message(text, flag: 1), code: .internalError),
    Case(
      testDescription: "marked in identity", encoding: "identity", body: message(text, flag: 1), code: .internalError),
    Case(testDescription: "in something", encoding: "snappy", body: message(text, flag: 1), code: .internalError),
    Case(testDescription: "no gzip", encoding: "gzip", body: message([1, 2, 3], flag: 1), code: .internalError),
    Case(testDescription: "two members", encoding: "gzip", body: message(text + text, flag: 1), code: .internalError),
    Case(testDescription: "a bomb", encoding: "gzip", body: message(bomb, flag: 1), code: .resourceExhausted),
  ]

  @Test(arguments: cases, [false, true])
  func isRead(_ given: Case, streaming: Bool) async throws {
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      let encoding = given.encoding.map { [("grpc-encoding", $0)] } ?? []
      connection.send([.responseHead(stream, encoding)] + data(given.body) + [.trailers(stream)])
    }
    let client = try await server.connect(.with { $0.acceptsCompression = given.isOffered })
    if streaming {
      let stream = client.open("Any")
      stream.stream.finishSending()
      #expect(await stream.errorCode() == given.code)
    } else {
      #expect(await client.code(of: "Any") == given.code)
    }
  }

  private static let text = Gzip().deflate(Array("again and again and again and again and again".utf8))!
  private static let bomb = Gzip().deflate([UInt8](repeating: 0, count: 6 << 20))!
}

/// With its prefix.
private func message(_ bytes: some Sequence<UInt8>, flag: UInt8 = 0) -> [UInt8] {
  let bytes = Array(bytes)
  return [flag] + withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes
}

/// In frames of the size that every peer takes.
private func data(_ bytes: [UInt8], flags: UInt8 = 0) -> [Frame] {
  let size = 16 << 10
  return stride(from: 0, to: max(1, bytes.count), by: size).map { start in
    let end = min(start + size, bytes.count)
    return .data(1, Array(bytes[start..<end]), flags: end == bytes.count ? flags : 0)
  }
}
