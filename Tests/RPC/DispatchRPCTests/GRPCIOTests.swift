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
    let loopback = try CompressionTests.loopback()
    let (status, output) = try await Script("grpcio_gzip_client.py", loopback.address.description).run()
    #expect(status == 0, "\(output)")
  }

  @Test func googlesServerCompresses() async throws {
    let server = try Script("grpcio_gzip_server.py")
    let port = try #require(UInt16(server.firstLine()))
    var configuration = RPCClientConfiguration()
    configuration.acceptsCompression = true
    let client = TestClient(try #require(SocketAddress.resolve(host: "127.0.0.1", port: port).first), configuration)
    try await client.connect()

    let large = [UInt8](repeating: 7, count: 50_000)
    for (message, isCompressed) in [(large, true), ([1, 2, 3], false), ([], false)] {
      let response = try await client.call("Gzip", message, compression: .gzip)
      #expect(response.message == message)
      #expect(response.messageWasCompressed == isCompressed)
    }
    let stream = client.open("Gzip", compression: .gzip)
    let messages = [large, [1], large]
    for (index, message) in messages.enumerated() { stream.stream.send(message, compressed: index == 0) }
    stream.stream.finishSending()
    let rest = await stream.rest()
    #expect(rest.messages == messages)
    #expect(try rest.end.get().isEmpty)
    await server.stop()
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
