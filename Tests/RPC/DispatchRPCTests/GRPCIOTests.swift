// grpc's client in Python compresses its messages, which Tests/Interop does not play. TOUCHSTONE_PYTHON names an
// interpreter with grpcio.

import Foundation
import RPCLoopback
import TestSupport
import Testing

@testable import DispatchRPC

private let python = ProcessInfo.processInfo.environment["TOUCHSTONE_PYTHON"]

@Suite(.mustEnd, .enabled(if: python != nil)) struct GRPCIOTests {
  @Test func googlesClientCompresses() async throws {
    let loopback = try Self.reading()
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
    let script = directory.appending(path: "crosscheck/grpcio_gzip_client.py").path
    let process = try ChildProcess([try #require(python), script, loopback.address.description])
    let ended = Box<Int32>()
    Thread.detachNewThread { ended.put(process.waitUntilExit()) }
    // Its output is short: at most a line for each check.
    let status = await ended.next()
    #expect(status == 0, "\(String(decoding: process.readToEnd(), as: UTF8.self))")
  }

  /// Echoes, whose trailers say which messages came compressed.
  private static func reading() throws -> Loopback {
    try Loopback { router in
      router.register("/test/Mirror") { call, message in
        call.respond(Array(message), trailingMetadata: [("was-compressed", "\(call.messageWasCompressed)")])
      }
      router.registerBidirectional("/stream/Mirror") { stream in
        let flags = Box<Bool>()
        stream.request(.max)
        return { stream, event in
          switch event {
          case .message(let bytes):
            flags.put(stream.messageWasCompressed)
            stream.send(Array(bytes))
          case .end: stream.finish(trailingMetadata: [("were-compressed", "\(flags.take())")])
          case .writable: break
          }
        }
      }
    }
  }
}
