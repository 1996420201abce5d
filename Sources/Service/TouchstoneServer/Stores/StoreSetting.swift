// `store:` of the configuration: the place of the records.

internal import TouchstoneStore
package import TouchstoneStorePostgres

package enum StoreSetting: Sendable, Hashable {
  /// A database in the data directory, for one process. The default.
  case sqlite
  /// A database on a server, for any number of processes.
  case postgresql(PostgresAddress)

  /// "sqlite, or a URI postgresql://HOST/DATABASE".
  static let form = "\(sqliteName), or a URI \(postgresForm)"
  package static let postgresForm = "\(postgresName)://HOST/DATABASE"
  package static let sqliteName = "sqlite"
  package static let postgresName = "postgresql"

  struct Malformed: Error {
    /// Follows the setting's name. Does not quote the text, which may hold a password.
    var message: String
  }

  init(parsing text: String) throws(Malformed) {
    if text == Self.sqliteName {
      self = .sqlite
      return
    }
    guard PostgresAddress.isMeant(by: text) else { throw Malformed(message: "must be \(Self.form)") }
    do throws(StoreOpenError) {
      self = .postgresql(try PostgresAddress(uri: text))
    } catch {
      throw Malformed(message: "must be \(Self.form): \(error.message)")
    }
  }

  /// Reads a flag's value, which other users can see.
  package static func visible(_ text: String, from flag: String) throws(Failure) -> StoreSetting {
    let setting: StoreSetting
    do throws(Malformed) {
      setting = try StoreSetting(parsing: text)
    } catch {
      throw Failure(kind: .usage, message: "\(flag) \(error.message)")
    }
    guard setting.hasSecret else { return setting }
    throw .passwordInFlag(flag, variable: "TOUCHSTONE_STORE")
  }

  package var hasSecret: Bool {
    switch self {
    case .sqlite: false
    case .postgresql(let address): address.hasSecret
    }
  }

  func location(dataDirectory: String) -> StoreLocation {
    switch self {
    case .sqlite: .sqlite(directory: dataDirectory)
    case .postgresql(let address): .postgresql(address)
    }
  }
}
