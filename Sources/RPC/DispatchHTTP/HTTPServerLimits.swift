/// The bounds that a server sets the clients of each of its addresses, each with its reason.
package struct HTTPServerLimits: Sendable {
  // MARK: Connections

  /// Open at one time, of one address. At the limit the oldest one makes room. Monitors, probes and verifiers of tokens
  /// are few and ask seldom; over TLS as many take 10 MB.
  package var connections = 256
  /// From one client's address, or one IPv6 /64: an eighth of all, so that it takes eight addresses to fill the server.
  /// The oldest makes room for the next.
  package var connectionsPerClient = 32
  /// On one connection. Then the client must connect anew, which spreads clients over new servers.
  package var requestsPerConnection = 1_000

  // MARK: Bytes

  /// The request line and all header fields. Browsers with cookies send 4 KiB at most; other servers allow 8 to 16.
  package var headBytes = 8 << 10
  /// Header fields of one request: several times what browsers send, so that each costs little to look up.
  package var headerFields = 64
  /// Bytes that are thrown away after an answer that ends the connection, so that the client sees the answer and no
  /// reset.
  package var lingeringBytes = 256 << 10

  // MARK: Times

  /// From accepting to the end of the TLS handshake, as on the gRPC port.
  package var handshakeTime = Duration.seconds(10)
  /// From the first byte of a request's head, or from a connection's beginning, to its last: in all, not between two
  /// bytes.
  package var headTime = Duration.seconds(10)
  /// From there to the last byte of its body, in all.
  package var bodyTime = Duration.seconds(20)
  /// From an answer to the client having taken it, in all: the longest is a page of metrics.
  package var answerTime = Duration.seconds(30)
  /// Without a request. Longer than a minute, which is how often Prometheus asks by default, so that it keeps its
  /// connection.
  package var idleTime = Duration.seconds(90)
  /// From the end of our side to the client's.
  package var lingeringTime = Duration.seconds(1)

  package init() {}
}
