// `limits:` of the configuration: bounds for the work and memory that all clients together, and each connection, may
// cause.

internal import DispatchRPC
internal import SettingFiles

/// A missing limit has the server's default.
struct LimitSettings: Hashable {
  var connections: Int?
  var strangersPerAddress: Int?
  var connectionAge: Duration?
  var connectionAgeGrace: Duration?
  var connectionIdle: Duration?
  var pingInterval: Duration?

  /// An idle connection over TLS takes 24 KB, so the maximum takes 24 GB.
  static let connectionCounts = 1...1_000_000
  /// With a lower age, clients would mostly reconnect. A higher one has no effect in practice.
  static let ages = Duration.seconds(1)...Duration.seconds(30 * 24 * 60 * 60)

  init() {}

  func apply(to server: inout RPCServerConfiguration) {
    if let connections { server.maxConnections = connections }
    if let strangersPerAddress { server.maxStrangersPerAddress = strangersPerAddress }
    if let connectionAge { server.maxConnectionAge = connectionAge }
    if let connectionAgeGrace { server.maxConnectionAgeGrace = connectionAgeGrace }
    if let connectionIdle { server.idleTimeout = connectionIdle }
    if let pingInterval { server.pingEnforcement.minimumInterval = pingInterval }
  }
}

extension LimitSettings: ConfigurationSection {
  static var keys: [ConfigurationKey<LimitSettings>] {
    ConfigurationKey(
      "connections", .integer(connectionCounts), to: \.connections, default: "10000", "Connections open at one time.")
    ConfigurationKey(
      "strangers_per_address", .integer(connectionCounts), to: \.strangersPerAddress,
      default: .words("connections / 8"), "Connections without an admitted call, from one address or IPv6 /64.")
    ConfigurationKey(
      "connection_age", .duration(ages), to: \.connectionAge, default: .words("no limit"),
      "The age at which a client must connect anew.")
    ConfigurationKey(
      "connection_age_grace", .duration(ages), to: \.connectionAgeGrace, default: .words("as long as they take"),
      "How long calls may go on after that.")
    ConfigurationKey(
      "connection_idle", .duration(ages), to: \.connectionIdle, default: "15m",
      "A connection without calls is closed after this time.")
    ConfigurationKey(
      "ping_interval", .duration(ages), to: \.pingInterval, default: "5m",
      "Clients that send PINGs more often are disconnected.")
  }

  func check(_ written: WrittenSection, with reader: inout SettingReader) {
    guard let grace = written.entry("connection_age_grace"), written.entry("connection_age") == nil else { return }
    reader.refuse(
      grace.key.place, "limits.connection_age_grace has no effect without limits.connection_age")
  }
}
