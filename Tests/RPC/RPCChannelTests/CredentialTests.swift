import DispatchRPC
import Testing

@testable import RPCChannel

// A bearer key goes over TLS, or stays on this machine.

@Suite struct CredentialTests {
  private let key: Metadata = [("authorization", "Bearer key")]

  /// A connection that is never made. 192.0.2.0/24 is nobody's (RFC 5737).
  private func connection(_ host: String, tls: RPCClientTLS? = nil) throws -> ChannelConnection {
    var configuration = RPCClientConfiguration()
    configuration.tls = tls
    let address = try #require(try SocketAddress.resolve(host: host, port: 1).first)
    return ChannelConnection(
      to: ChannelEndpoint(address: address, authority: "a:1"), loop: EventLoop(label: "test"),
      configuration: configuration, report: { _ in })
  }

  private func refusal(
    _ metadata: Metadata, _ connection: ChannelConnection, allowed: Bool = false
  ) -> RPCError? {
    var configuration = RPCChannelConfiguration()
    configuration.allowsAuthorizationInPlaintext = allowed
    return ChannelCore(configuration: configuration).refusal(of: metadata, on: connection)
  }

  @Test func inPlaintextToAnotherMachineItIsRefused() throws {
    let far = try connection("192.0.2.1")
    #expect(refusal(key, far)?.code == .unauthenticated)
    #expect(refusal([("proxy-authorization", "Basic eA==")], far)?.code == .unauthenticated)
    #expect(refusal([("x-other", "value")], far) == nil)
    #expect(refusal(key, far, allowed: true) == nil)
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func onThisMachineItIsSent(host: String) throws {
    #expect(refusal(key, try connection(host)) == nil)
  }

  @Test func overTLSItIsSent() throws {
    #expect(refusal(key, try connection("192.0.2.1", tls: RPCClientTLS())) == nil)
  }

  @Test func overAUnixSocketItIsSent() async throws {
    var configuration = RPCChannelConfiguration()
    configuration.allowsAuthorizationInPlaintext = false
    let endpoint = ChannelEndpoint(address: try .unix(path: "/nowhere"), authority: "localhost")
    let connection = ChannelConnection(
      to: endpoint, loop: EventLoop(label: "test"), configuration: RPCClientConfiguration(), report: { _ in })
    #expect(refusal(key, connection) == nil)
  }
}
