// Which database is meant, before anybody connects to it.

public import TouchstoneStore

/// A URI as libpq reads it: several hosts, `target_session_attrs`, TLS. It may hold a password, and no description does.
public struct PostgresAddress: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  public let uri: String
  /// A password, or another secret: the URI is not for everybody's eyes.
  public let hasSecret: Bool
  /// "HOST:PORT,HOST:PORT/DATABASE", as far as the URI says it.
  public let description: String
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

  /// Whether a text is meant as one. libpq's other form ("host=… dbname=…") is left to `psql`.
  public static func isMeant(by text: String) -> Bool {
    schemes.contains { text.hasPrefix($0) }
  }

  private static let schemes = ["postgresql://", "postgres://"]

  /// Nothing is resolved or connected.
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
