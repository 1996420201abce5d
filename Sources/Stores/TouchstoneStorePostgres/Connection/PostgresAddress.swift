// The address of a database, before any connection.

public import TouchstoneStore

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
