// The client that a case works with, and the cases by their names.

import DispatchRPC
import InteropSupport
import RPCChannel

struct TestClient: Sendable {
  let channel: TestChannel
  /// The channel's.
  let target: String
  let soak: SoakLimits
  private let configuration: RPCChannelConfiguration

  init(_ flags: Flags) throws {
    let port: UInt16 = try flags.number("server_port")
    target = "\(flags.string("server_host") ?? "localhost"):\(port)"
    configuration = try Self.configuration(flags)
    soak = try SoakLimits(flags)
    channel = TestChannel(to: target, configuration: configuration)
  }

  private static func configuration(_ flags: Flags) throws -> RPCChannelConfiguration {
    var configuration = RPCChannelConfiguration()
    // As gRPC's channels have it: calls wait where a server allows no more of them.
    configuration.maximumConnections = 1
    // Foreign servers take all calls of concurrent_large_unary at once, and answer them all.
    configuration.connection.maxUnreadBytesPerConnection =
      UnaryCases.concurrentCalls * 2 * Int(UnaryCases.responseBytes)
    configuration.connection.authority = flags.string("server_host_override")
    guard try flags.bool("use_tls") else { return configuration }
    let authorities: RPCClientTLS.Authorities =
      try flags.bool("use_test_ca") ? .file(try flags.text("ca_file")) : .system
    configuration.connection.tls = try RPCClientTLS(
      authorities: authorities, serverName: flags.string("server_host_override"))
    return configuration
  }

  /// Another channel.
  func makeChannel() -> TestChannel {
    TestChannel(to: target, configuration: configuration)
  }
}

/// By the names of interop-test-descriptions.md and of test/cpp/interop/client.cc.
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
    "slow_consumer": StreamCases.slowConsumer,
    "rpc_soak": SoakCases.oneChannel,
    "channel_soak": SoakCases.channelForEach,

    // test/http2_test, whose servers misbehave.
    "goaway": BadServerCases.goaway,
    "max_streams": BadServerCases.maxStreams,
    "ping": BadServerCases.ping,
    "rst_after_header": BadServerCases.reset,
    "rst_after_data": BadServerCases.reset,
    "rst_during_data": BadServerCases.reset,
    "data_frame_padding": BadServerCases.dataFramePadding,
    "no_df_padding_sanity_test": BadServerCases.dataFramePadding,

    // Replayed bytes, some of which are no HTTP/2 at all.
    "any_answer": BadServerCases.anyAnswer,
  ]
}
