// `store:` of the configuration: where the records are.

internal import Glibc
internal import TouchstoneStore
internal import TouchstoneStorePostgres

enum StoreSetting: Hashable {
  /// A file in the data directory.
  case sqlite
  case postgresql(PostgresAddress)

  static let form = "sqlite, or a URI postgresql://HOST/DATABASE"
  /// The one place for a password that neither a file nor a list of processes shows.
  private static let environmentVariable = "TOUCHSTONE_STORE"

  struct Malformed: Error {
    /// To go behind the setting's name. Does not quote the text, which may hold a password.
    var message: String
  }

  init(parsing text: String) throws(Malformed) {
    if text == "sqlite" {
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

  /// Of a flag or a variable.
  init(parsing text: String, from name: String, status: ExitStatus) throws(Failure) {
    do throws(Malformed) {
      try self.init(parsing: text)
    } catch {
      throw Failure(status: status, message: "\(name) \(error.message)")
    }
  }

  /// Takes it out of the environment: what this process starts, and whoever reads /proc/PID/environ, does not see a
  /// password. `nil` where it does not say.
  static func takeFromEnvironment() -> Result<StoreSetting, Failure>? {
    guard let value = getenv(environmentVariable), value.pointee != 0 else { return nil }
    let text = String(cString: value)
    explicit_bzero(value, strlen(value))
    unsetenv(environmentVariable)
    do throws(Failure) {
      return .success(try StoreSetting(parsing: text, from: environmentVariable, status: .badConfiguration))
    } catch {
      return .failure(error)
    }
  }

  var hasSecret: Bool {
    if case .postgresql(let address) = self { address.hasSecret } else { false }
  }

  /// For people.
  var description: String {
    switch self {
    case .sqlite: "sqlite"
    case .postgresql(let address): "postgresql \(address.description)"
    }
  }
}
