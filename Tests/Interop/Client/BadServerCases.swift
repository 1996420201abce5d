// Against servers that misbehave (grpc/grpc test/http2_test, test/cpp/interop/http2_client.cc). Their log holds their
// findings about the client.

import DispatchRPC
import InteropSupport

enum BadServerCases {
  /// For the server's GOAWAY to arrive; it leaves no trace that could be awaited.
  private static let goawayDelay = Duration.seconds(1)

  /// The server sends GOAWAY after the first call. The second takes another connection.
  static func goaway(_ client: TestClient) async throws {
    try await UnaryCases.callLarge(client.channel)
    try await Task.sleep(for: goawayDelay)
    try await UnaryCases.callLarge(client.channel)
  }

  /// The server allows one stream: calls wait for each other.
  static func maxStreams(_ client: TestClient) async throws {
    try await UnaryCases.callLarge(client.channel)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<15 {
        group.addTask { try await UnaryCases.callLarge(client.channel) }
      }
      try await group.waitForAll()
    }
  }

  /// The server pings before and after each of its frames, and counts the answers.
  static func ping(_ client: TestClient) async throws {
    try await UnaryCases.callLarge(client.channel)
  }

  /// The server resets the stream after its header, during its data, or instead of the trailer. No message counts then.
  static func reset(_ client: TestClient) async throws {
    let outcome = await UnaryCases.outcome(client.channel, .unaryCall, UnaryCases.largeRequest.encoded())
    try expect(outcome, failsWith: .internalError)
  }

  /// The server sends five bytes at a time with 255 bytes of padding, which count for the window.
  static func dataFramePadding(_ client: TestClient) async throws {
    try await UnaryCases.callLarge(client.channel)
  }

  /// Whatever the server sends: each call ends, and before it would time out.
  static func anyAnswer(_ client: TestClient) async throws {
    for _ in 0..<client.soak.iterations {
      let channel = client.makeChannel()
      let outcome = await channel.outcome(.emptyCall, timeout: patience)
      await channel.close()
      if case .failure(let error) = outcome, error.code == .deadlineExceeded {
        throw CaseFailure("a call has no end after \(patience), though its connection has")
      }
    }
  }

  private static let patience = Duration.seconds(60)
}
