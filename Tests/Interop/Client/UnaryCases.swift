// Cases with one message each way.

import DispatchRPC
import InteropSupport

enum UnaryCases {
  static let requestBytes = 271_828
  static let responseBytes: Int32 = 314_159
  static let concurrentCalls = 1000

  static func empty(_ client: TestClient) async throws {
    let response = try await client.channel.call(.emptyCall, Empty().encoded())
    try expect(response.message.count, is: 0, "the empty message's size")
  }

  static func large(_ client: TestClient) async throws {
    try await callLarge(client.channel)
  }

  /// All at once, on one channel.
  static func concurrentLarge(_ client: TestClient) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<concurrentCalls {
        group.addTask { try await callLarge(client.channel) }
      }
      try await group.waitForAll()
    }
  }

  /// All calls of a channel with one address reach one server.
  static func pickFirst(_ client: TestClient) async throws {
    var request = SimpleRequest()
    request.responseSize = 1
    request.payload = Payload(zeros: 1)
    request.fillServerID = true
    let first = try await call(client.channel, request).response.serverID
    guard !first.isEmpty else { throw CaseFailure("the server does not say who it is") }
    for _ in 1..<100 {
      try expect(try await call(client.channel, request).response.serverID, is: first, "the server")
    }
  }

  static func customMetadata(_ client: TestClient) async throws {
    var request = SimpleRequest()
    request.responseSize = responseBytes
    request.payload = Payload(zeros: requestBytes)
    let (_, raw) = try await call(client.channel, request, metadata: EchoedMetadata.request)
    try EchoedMetadata.check(initial: raw.initialMetadata, trailing: raw.trailingMetadata)
    try await StreamCases.customMetadata(client)
  }

  static func statusCodeAndMessage(_ client: TestClient) async throws {
    let status = EchoStatus(code: 2, message: "test status message")
    try await expectEcho(of: status, client)
    try await StreamCases.expectEcho(of: status, client)
  }

  static func specialStatusMessage(_ client: TestClient) async throws {
    let message = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
    try await expectEcho(of: EchoStatus(code: 2, message: message), client)
  }

  static func unimplementedMethod(_ client: TestClient) async throws {
    try expect(await outcome(client.channel, .unimplementedCall), failsWith: .unimplemented)
  }

  static func unimplementedService(_ client: TestClient) async throws {
    try expect(await outcome(client.channel, .unimplementedService), failsWith: .unimplemented)
  }
}

extension UnaryCases {
  static var largeRequest: SimpleRequest {
    var request = SimpleRequest()
    request.responseSize = responseBytes
    request.payload = Payload(zeros: requestBytes)
    return request
  }

  static func callLarge(_ channel: TestChannel) async throws {
    let (response, _) = try await call(channel, largeRequest)
    try expect(response.payload, isZeros: responseBytes)
  }

  static func call(
    _ channel: TestChannel, _ request: SimpleRequest, metadata: Metadata = Metadata()
  ) async throws -> (response: SimpleResponse, raw: RPCResponse) {
    let raw = try await channel.call(.unaryCall, request.encoded(), metadata: metadata)
    return (try SimpleResponse(decoding: raw.message), raw)
  }

  static func outcome(
    _ channel: TestChannel, _ method: TestMethod, _ message: [UInt8] = []
  ) async -> Result<RPCResponse, RPCError> {
    do throws(RPCError) {
      return .success(try await channel.call(method, message))
    } catch {
      return .failure(error)
    }
  }

  private static func expectEcho(of status: EchoStatus, _ client: TestClient) async throws {
    var request = SimpleRequest()
    request.responseStatus = status
    try expect(
      await outcome(client.channel, .unaryCall, request.encoded()), failsWith: .unknown, message: status.message)
  }
}

/// The metadata that the server is to send back in header and trailer.
enum EchoedMetadata {
  private static let initial = "test_initial_metadata_value"
  private static let trailing: [UInt8] = [0xAB, 0xAB, 0xAB]

  static var request: Metadata {
    var metadata: Metadata = [(EchoKey.initial, initial)]
    metadata.append(EchoKey.trailing, binary: trailing)
    return metadata
  }

  static func check(initial header: Metadata, trailing trailer: Metadata) throws(CaseFailure) {
    try expect(header.first(EchoKey.initial), is: initial, "the initial metadata")
    try expect(trailer.firstBinary(EchoKey.trailing), is: trailing, "the trailing metadata")
  }
}
