// The kinds of stores. Apart from its own target, only this file names a kind.

package import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

package enum StoreRegistry {
  /// The only one, because a data directory alone must say what is in it. It is the default.
  package static let directoryKind: any DirectoryStoreKind = SQLiteKind()
  package static let serverKinds: [any ServerStoreKind] = [PostgresKind()]
}

extension StoreRegistry {
  /// "sqlite, or a URI postgresql://HOST/DATABASE".
  static let settingForm = "\(directoryKind.name), or a URI \(serverForms)"
  /// "postgresql://HOST/DATABASE".
  package static let serverForms = serverKinds.map(\.form).joined(separator: " or ")
  /// "PostgreSQL".
  package static let serverTitles = serverKinds.map(\.title).joined(separator: " or ")

  package static func serverKind(named name: String) -> (any ServerStoreKind)? {
    serverKinds.first { $0.name == name }
  }
}
