// Messages in gzip (grpc/grpc doc/compression.md): what is read, what is refused, and what it may cost. We send none.

import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

@Suite(.mustEnd) struct CompressedRequestTests {
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
      $0.contains { $0.stream == 1 && $0.flags & Frame.endStream != 0 }
    }
    let answer = try #require(HeaderReader.fields(of: frames.filter { $0.stream == 1 }))
    #expect(answer["grpc-status"] == given.status)
    // For whoever speaks of encodings, and never the one that was refused.
    #expect(answer["grpc-accept-encoding"] == (given.encodings.isEmpty ? nil : "identity,gzip"))
  }

  @Test("A client that sends bombs has one inflated, then the others have their turn", .serialized, arguments: [1, 8])
  func turns(calls: UInt32) async throws {
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
    let path = calls == 1 ? "/stream/Bombs" : "/test/Bomb"
    let bombs = [[UInt8]](repeating: message(gzipped([UInt8](repeating: 0, count: 1 << 20)), flag: 1), count: 8)
    let frames = (0..<calls).flatMap { call in
      let messages = bombs.prefix(8 / Int(calls)).flatMap(\.self)
      return [Frame.headers(2 * call + 1, Frame.call(path) + [("grpc-encoding", "gzip")])]
        + data(messages, stream: 2 * call + 1, flags: Frame.endStream)
    }
    _ = await RawPeer(loopback.address).exchange(Frame.preface + frames.flatMap(\.bytes)) { frames in
      frames.count { $0.stream > 0 && $0.flags & Frame.endStream != 0 } == Int(calls)
    }
    #expect(rounds.take { !$0.isEmpty } == [[Int]](repeating: [1 << 20], count: 8))
  }

  private static let text = gzipped(Array("again and again and again and again and again".utf8))
  private static let bomb = gzipped([UInt8](repeating: 0, count: 6 << 20))
}

/// Responses that our own server would never send. The client names no encoding that it reads.
@Suite(.mustEnd) struct CompressedResponseTests {
  @Test(arguments: [(flag: 0, code: .ok), (1, .internalError)] as [(flag: UInt8, code: RPCCode)], [false, true])
  func isReadAsItIs(given: (flag: UInt8, code: RPCCode), streaming: Bool) async throws {
    let server = try ScriptedServer { connection in
      let stream = connection.nextCall()
      connection.send(
        [.responseHead(stream, [("grpc-encoding", "gzip")])] + data(message(gzipped([7, 7, 7]), flag: given.flag))
          + [.trailers(stream)])
    }
    let client = try await server.connect()
    if streaming {
      let stream = client.open("Any")
      stream.stream.finishSending()
      #expect(await stream.errorCode() == given.code)
    } else {
      #expect(await client.code(of: "Any") == given.code)
    }
  }
}

/// With its prefix.
private func message(_ bytes: some Sequence<UInt8>, flag: UInt8 = 0) -> [UInt8] {
  let bytes = Array(bytes)
  return [flag] + withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes
}

/// In frames of the size that every peer takes.
private func data(_ bytes: [UInt8], stream: UInt32 = 1, flags: UInt8 = 0) -> [Frame] {
  let size = 16 << 10
  return stride(from: 0, to: max(1, bytes.count), by: size).map { start in
    let end = min(start + size, bytes.count)
    return .data(stream, Array(bytes[start..<end]), flags: end == bytes.count ? flags : 0)
  }
}
