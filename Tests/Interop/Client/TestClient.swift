// What a case has to work with, and the cases by their names.

import DispatchRPC
import InteropSupport

struct TestClient: Sendable {
  let channel: TestChannel
  let address: SocketAddress
  let soak: SoakLimits
  private let configuration: RPCClientConfiguration

  init(_ flags: Flags) async throws {
    let host = flags.string("server_host") ?? "localhost"
    let port: UInt16 = try flags.number("server_port")
    var configuration = RPCClientConfiguration()
    configuration.authority = "\(host):\(port)"
    guard let address = try SocketAddress.resolve(host: host, port: port).first else {
      throw CaseFailure("\(host) has no address")
    }
    self.address = address
    self.configuration = configuration
    soak = try SoakLimits(flags)
    channel = try await TestChannel(to: address, configuration: configuration)
  }

  /// Another channel.
  func connect() async throws -> TestChannel {
    try await TestChannel(to: address, configuration: configuration)
  }
}

/// By the names of interop-test-descriptions.md.
enum TestCases {
  static let named: [String: @Sendable (TestClient) async throws -> Void] = [
    "empty_unary": UnaryCases.empty,
    "large_unary": UnaryCases.large,
    "concurrent_large_unary": UnaryCases.concurrentLarge,
    "pick_first_unary": UnaryCases.pickFirst,
    "custom_metadata": UnaryCases.customMetadata,
    "status_code_and_message": UnaryCases.statusCodeAndMessage,
    "special_status_message": UnaryCases.specialStatusMessage,
    "unimplemented_method": UnaryCases.unimplementedMethod,
    "unimplemented_service": UnaryCases.unimplementedService,
    "client_streaming": StreamCases.clientStreaming,
    "server_streaming": StreamCases.serverStreaming,
    "ping_pong": StreamCases.pingPong,
    "half_duplex": StreamCases.halfDuplex,
    "empty_stream": StreamCases.empty,
    "cancel_after_begin": StreamCases.cancelAfterBegin,
    "cancel_after_first_response": StreamCases.cancelAfterFirstResponse,
    "timeout_on_sleeping_server": StreamCases.timeoutOnSleepingServer,
    "rpc_soak": SoakCases.oneChannel,
    "channel_soak": SoakCases.channelForEach,
  ]
}
