// The server against Google's gRPC client in Python, where there is one: TOUCHSTONE_PYTHON names an interpreter with grpcio.

import Foundation
import Testing

@testable import DispatchRPC

@Suite(.timeLimit(.minutes(2))) struct GRPCIOTests {
  private static let python = ProcessInfo.processInfo.environment["TOUCHSTONE_PYTHON"]

  @Test(.enabled(if: python != nil)) func googlesClientMakesAllKindsOfCalls() async throws {
    let streaming = try StreamingLoopback()
    let python = try #require(Self.python)
    let address = streaming.loopback.address.description
    let (status, output) = try await Self.run(python, "crosscheck/grpcio_client.py", address)
    #expect(status == 0, "\(output)")
  }

  private static func run(_ python: String, _ script: String, _ argument: String) async throws -> (Int32, String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: script).path
    process.arguments = [python, path, argument]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    let ended = Box<Int32>()
    process.terminationHandler = { ended.put($0.terminationStatus) }
    try process.run()
    // Short: no more than a line for each check.
    let status = await ended.next()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    return (status, String(decoding: text, as: UTF8.self))
  }
}
