// Against Google's gRPC in Python, where there is one: TOUCHSTONE_PYTHON names an interpreter with grpcio.

import RPCLoopback
import TestSupport
import Foundation
import Testing

@testable import DispatchRPC

@Suite(.timeLimit(.minutes(2)), .enabled(if: python != nil)) struct GRPCIOTests {
  @Test func googlesClientMakesAllKindsOfCalls() async throws {
    let loopback = try Loopback()
    let address = loopback.address.description
    let (status, output) = try await Script("grpcio_client.py", address).run()
    #expect(status == 0, "\(output)")
  }

  @Test func googlesClientCompresses() async throws {
    let loopback = try Self.reading()
    let (status, output) = try await Script("grpcio_gzip_client.py", loopback.address.description).run()
    #expect(status == 0, "\(output)")
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

let python = ProcessInfo.processInfo.environment["TOUCHSTONE_PYTHON"]

/// One of `crosscheck` that runs.
final class Script: Sendable {
  private let process: ChildProcess
  private let ended = Box<Int32>()

  init(_ name: String, _ arguments: String...) throws {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
    let process = try ChildProcess([python!, directory.appending(path: "crosscheck/\(name)").path] + arguments)
    self.process = process
    let ended = ended
    Thread.detachNewThread { ended.put(process.waitUntilExit()) }
  }

  /// Returns the first line of its first output.
  func firstLine() -> String {
    String(decoding: process.read().prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// Runs it to its end; returns its status and its whole output, which is short: at most a line for each check.
  func run() async -> (Int32, String) {
    let status = await ended.next()
    return (status, String(decoding: process.readToEnd(), as: UTF8.self))
  }

  func stop() async {
    process.closeInput()
    _ = await ended.next()
  }
}
