// Where the database is, as libpq reads it, host by host.

internal import CPostgres
internal import Glibc
internal import TouchstoneStore

/// One host of a connection string, with all that is said for every host.
///
/// libpq would try several hosts in their order, but leaves the time of each to its caller where it must not block: a
/// host that does not answer would keep it from the next one for ever. As endpoints of a pool they are tried beside one
/// another, each with its own back-off.
struct ConnectionTarget: Sendable, Hashable {
  struct Setting: Sendable, Hashable {
    var keyword: String
    var value: String
    /// libpq shows it to nobody.
    var isSecret = false
  }

  var settings: [Setting]

  /// - Parameter uri: `postgresql://…` or `host=… dbname=…`, with all that libpq knows (TLS, several hosts,
  ///   `target_session_attrs`); what it does not say comes from the environment (PGHOST, PGPASSFILE …).
  static func targets(of uri: String) throws(StoreOpenError) -> [ConnectionTarget] {
    try split(try parse(uri))
  }

  /// What it says, and nothing from the environment.
  static func parse(_ uri: String) throws(StoreOpenError) -> [Setting] {
    var message: UnsafeMutablePointer<CChar>?
    defer { if let message { PQfreemem(message) } }
    guard let options = PQconninfoParse(uri, &message) else {
      // The message may quote what stands where a password is expected.
      throw StoreOpenError(code: .unwritable, message: "the store's URI is not one that libpq reads: check its form")
    }
    defer { PQconninfoFree(options) }
    var settings: [Setting] = []
    var index = 0
    while let keyword = options[index].keyword {
      if let value = options[index].val {
        let isSecret = options[index].dispchar.map { String(cString: $0) } == "*"
        settings.append(
          Setting(keyword: String(cString: keyword), value: String(cString: value), isSecret: isSecret))
      }
      index += 1
    }
    return settings
  }

  /// The same, with what the store asks of every connection.
  static func prepared(_ uri: String) throws(StoreOpenError) -> [ConnectionTarget] {
    try targets(of: uri).map { target in
      var target = target
      target.setDefault("fallback_application_name", "touchstone")
      // A standby would refuse every commit.
      target.setDefault("target_session_attrs", "read-write")
      // libpq's own default would go on in plaintext where the server, or who stands between, has no TLS.
      if !target.isLocal, getenv("PGSSLMODE") == nil { target.setDefault("sslmode", "verify-full") }
      target.set("client_encoding", "UTF8")
      return target
    }
  }

  /// A list of hosts, of their addresses and of their ports; one port serves for all.
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

  /// On this machine: a Unix socket or a loopback address.
  private var isLocal: Bool {
    // Without a host libpq takes PGHOST, or else a Unix socket.
    let host = value(of: "hostaddr") ?? value(of: "host") ?? getenv("PGHOST").map { String(cString: $0) } ?? ""
    return host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
      || host.hasPrefix("127.")
  }

  func value(of keyword: String) -> String? {
    settings.first { $0.keyword == keyword }?.value
  }

  /// Unless the URI says otherwise.
  private mutating func setDefault(_ keyword: String, _ value: String) {
    guard !settings.contains(where: { $0.keyword == keyword }) else { return }
    settings.append(Setting(keyword: keyword, value: value))
  }

  private mutating func set(_ keyword: String, _ value: String) {
    settings.removeAll { $0.keyword == keyword }
    settings.append(Setting(keyword: keyword, value: value))
  }
}
