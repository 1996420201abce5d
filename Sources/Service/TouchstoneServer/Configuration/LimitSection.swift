// `limits:` of the configuration: bounds for the work and memory that all clients together, and each connection, may cause.

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

  enum Key: String, CaseIterable {
    case connections
    case strangersPerAddress = "strangers_per_address"
    case connectionAge = "connection_age"
    case connectionAgeGrace = "connection_age_grace"
    case connectionIdle = "connection_idle"
    case pingInterval = "ping_interval"
  }

  /// An idle connection over TLS takes 24 KB, so the maximum takes 24 GB.
  static let connectionCounts = 1...1_000_000
  /// With a lower age, clients would mostly reconnect. A higher one has no effect in practice.
  static let ages = Duration.seconds(1)...Duration.seconds(30 * 24 * 60 * 60)

  init() {}

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    for entry in reader.mapping(node, "limits", of: Key.names) ?? [] {
      let name = "limits.\(entry.key.name)"
      switch Key(rawValue: entry.key.name) {
      case .connections: connections = reader.integer(entry.value, name, in: Self.connectionCounts)
      case .strangersPerAddress:
        strangersPerAddress = reader.integer(entry.value, name, in: Self.connectionCounts)
      case .connectionAge: connectionAge = Self.readAge(entry.value, name, with: &reader)
      case .connectionAgeGrace: connectionAgeGrace = Self.readAge(entry.value, name, with: &reader)
      case .connectionIdle: connectionIdle = Self.readAge(entry.value, name, with: &reader)
      case .pingInterval: pingInterval = Self.readAge(entry.value, name, with: &reader)
      case nil: break
      }
      if Key(rawValue: entry.key.name) == .connectionAgeGrace, !Self.contains(node, .connectionAge) {
        reader.refuse(entry.key.place, "\(name) has no effect without limits.connection_age")
      }
    }
  }

  private static func contains(_ node: YAMLNode, _ key: Key) -> Bool {
    guard case .mapping(let entries) = node.content else { return false }
    return entries.contains { $0.key.name == key.rawValue }
  }

  private static func readAge(_ node: YAMLNode, _ name: String, with reader: inout SettingReader) -> Duration? {
    guard let age = reader.duration(node, name) else { return nil }
    guard ages.contains(age) else {
      reader.refuse(node.place, "\(name) must be 1s to 720h")
      return nil
    }
    return age
  }

  func apply(to server: inout RPCServerConfiguration) {
    if let connections { server.maxConnections = connections }
    if let strangersPerAddress { server.maxStrangersPerAddress = strangersPerAddress }
    if let connectionAge { server.maxConnectionAge = connectionAge }
    if let connectionAgeGrace { server.maxConnectionAgeGrace = connectionAgeGrace }
    if let connectionIdle { server.idleTimeout = connectionIdle }
    if let pingInterval { server.pingEnforcement.minimumInterval = pingInterval }
  }
}
