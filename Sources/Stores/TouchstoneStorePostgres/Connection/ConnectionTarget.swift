// The database's address as libpq reads it, host by host.

internal import Glibc
public import TouchstoneStore

/// One host of a connection string, with the settings for all hosts.
///
/// libpq tries several hosts in order, but has no time limit for each in nonblocking mode, so a host that does not
/// answer would keep it from the next one for ever. As endpoints of a pool they are tried in parallel, each with its
/// own back-off.
struct ConnectionTarget: Sendable, Hashable {
  struct Setting: Sendable, Hashable {
    var keyword: String
    var value: String
    /// libpq never shows this value.
    var isSecret = false
  }

  var settings: [Setting]

  /// - Parameter uri: `postgresql://…` or `host=… dbname=…`, with every setting of libpq (TLS, several hosts,
  ///   `target_session_attrs`). Missing settings come from the environment (PGHOST, PGPASSFILE …).
  static func targets(of uri: String) throws(StoreOpenError) -> [ConnectionTarget] {
    try split(try parse(uri))
  }

  /// The same, with the store's settings for every connection.
  ///
  /// - Parameter isSet: whether the environment has a variable.
  static func prepared(
    _ uri: String, isSet: (String) -> Bool = { getenv($0) != nil }
  ) throws(StoreOpenError) -> [ConnectionTarget] {
    try targets(of: uri).map { target in
      var target = target
      target.setDefault("fallback_application_name", "touchstone")
      // A standby would refuse every commit.
      target.setDefault("target_session_attrs", "read-write")
      // libpq's default would go on in plaintext if the server, or an attacker in between, offers no TLS. Neither
      // PGSSLMODE nor a service file weakens this, because others than the URI's author may change them.
      if !target.isLoopback(isSet) { target.setDefault("sslmode", "verify-full") }
      // Also ends libpq's blocking calls (a cancel request) if the host is silent.
      for (keyword, value) in Self.keepalive { target.setDefault(keyword, value) }
      target.set("client_encoding", "UTF8")
      return target
    }
  }

  /// Half a minute in total: seconds, a count, and milliseconds for sent bytes (RFC 5482).
  private static let keepalive = [
    ("keepalives_idle", "15"), ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
  ]

  /// A list of hosts, of their addresses and of their ports. A single port is for all hosts.
  private static func split(_ settings: [Setting]) throws(StoreOpenError) -> [ConnectionTarget] {
    func list(_ keyword: String) -> [String] {
      settings.first { $0.keyword == keyword }?.value.split(separator: ",", omittingEmptySubsequences: false)
        .map { String($0) } ?? []
    }
    let lists = ["host": list("host"), "hostaddr": list("hostaddr"), "port": list("port")]
    let count = max(1, lists["host"]!.count, lists["hostaddr"]!.count)
    for (keyword, values) in lists where values.count > 1 && values.count != count {
      throw StoreOpenError(
        code: .unwritable, message: "the store's URI names \(count) hosts, but \(values.count) of \(keyword)")
    }
    return (0..<count).map { host in
      var target = ConnectionTarget(settings: settings.filter { lists[$0.keyword] == nil })
      for (keyword, values) in lists where !values.isEmpty {
        target.settings.append(Setting(keyword: keyword, value: values[values.count == 1 ? 0 : host]))
      }
      return target
    }
  }

  /// Whether the URI alone names a loopback address over TCP. On a Unix socket libpq uses no TLS, whatever `sslmode`
  /// is.
  private func isLoopback(_ isSet: (String) -> Bool) -> Bool {
    if let address = value(of: "hostaddr") { return Self.isLoopback(address) }
    // These give a host another address.
    let isRedirected = isSet("PGHOSTADDR") || isSet("PGSERVICE") || value(of: "service") != nil
    guard !isRedirected, let host = value(of: "host") else { return false }
    return host == "localhost" || Self.isLoopback(host)
  }

  private static func isLoopback(_ address: String) -> Bool {
    // As a number: "127.example.com" is a name, and may be anywhere.
    var number = in_addr()
    if inet_pton(AF_INET, address, &number) == 1 { return UInt32(bigEndian: number.s_addr) >> 24 == 127 }
    return address == "::1"
  }

  func value(of keyword: String) -> String? {
    settings.first { $0.keyword == keyword }?.value
  }

  /// The default, if the URI has no setting.
  private mutating func setDefault(_ keyword: String, _ value: String) {
    guard !settings.contains(where: { $0.keyword == keyword }) else { return }
    settings.append(Setting(keyword: keyword, value: value))
  }

  private mutating func set(_ keyword: String, _ value: String) {
    settings.removeAll { $0.keyword == keyword }
    settings.append(Setting(keyword: keyword, value: value))
  }
}

/// A URI as libpq reads it: several hosts, `target_session_attrs`, TLS. It may hold a password, and no description
/// does.
public struct PostgresAddress: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  public let uri: String
  /// Whether the URI holds a password or another secret, so that it must not be shown.
  public let hasSecret: Bool
  /// "HOST:PORT,HOST:PORT/DATABASE", as far as the URI says it.
  public let description: String
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

  /// Whether a text is a URI. libpq's other form ("host=… dbname=…") is not accepted.
  public static func isMeant(by text: String) -> Bool {
    schemes.contains { text.hasPrefix($0) }
  }

  private static let schemes = ["postgresql://", "postgres://"]

  /// Resolves and connects nothing.
  public init(uri: String) throws(StoreOpenError) {
    let parsed = try ConnectionTarget.parse(uri)
    self.uri = uri
    hasSecret = parsed.contains { $0.isSecret }
    let targets = try ConnectionTarget.targets(of: uri)
    let database = targets[0].value(of: "dbname") ?? targets[0].value(of: "service")
    description = targets.map(\.place).joined(separator: ",") + (database.map { "/\($0)" } ?? "")
  }
}

extension ConnectionTarget {
  fileprivate var place: String {
    let host = value(of: "host") ?? value(of: "hostaddr") ?? ""
    let port = value(of: "port") ?? ""
    return port.isEmpty ? host : "\(host):\(port)"
  }
}
