// The reason why a start, a reload or a command cannot go on.

package import DispatchRPC
internal import FilePermissions
internal import Glibc
package import TouchstoneArchive
package import TouchstoneCrypto
package import TouchstoneStore

/// A failure, in lines for people, and its kind, which decides the exit status.
package struct Failure: Error {
  package enum Kind: Sendable, Hashable, CaseIterable {
    /// A flag or an argument is invalid.
    case usage
    /// The data directory or the database is damaged or belongs to another program, or a file is no decision table.
    case corruptData
    /// A named file cannot be read.
    case noInput
    /// The service cannot listen on the address, no service answers there, or the database is unreachable.
    case unavailable
    /// The data directory or the database cannot be written.
    case unwritableData
    /// Another process has the data directory.
    case lockedData
    /// Another version wrote the data, it was moved elsewhere, or the database has no tables yet.
    case otherSchema
    /// Other users can change the data directory.
    case unprotectedData
    /// The key files are missing, damaged or readable by others.
    case unusableKeys
    /// The configuration file is invalid.
    case badConfiguration
  }

  package var kind: Kind
  /// One line for each error.
  package var lines: [String]

  package init(kind: Kind, message: String) {
    self.init(kind: kind, messages: [message])
  }

  package init(kind: Kind, messages: [String]) {
    self.kind = kind
    lines = messages.map { "touchstone: \($0)" }
  }

  /// - Parameter places: lines of the form "FILE:LINE:COLUMN: MESSAGE", which editors read.
  package init(kind: Kind, places: [String]) {
    self.kind = kind
    lines = places
  }
}

/// An error of a part that decides the exit status of a process.
package protocol FailureCause: Error {
  var failure: Failure { get }
}

extension Failure {
  package init(_ cause: some FailureCause) { self = cause.failure }
}

/// Throws the part's error as a failure.
package func failing<Value, Cause: FailureCause>(_ body: () throws(Cause) -> Value) throws(Failure) -> Value {
  do throws(Cause) {
    return try body()
  } catch {
    throw error.failure
  }
}

extension StoreOpenError: FailureCause {
  package var failure: Failure {
    let kind: Failure.Kind =
      switch code {
      case .locked: .lockedData
      case .unwritable: .unwritableData
      case .unprotected: .unprotectedData
      case .unreachable: .unavailable
      case .otherSchema: .otherSchema
      case .corrupt: .corruptData
      }
    return Failure(kind: kind, message: message)
  }
}

extension ArchiveError: FailureCause {
  package var failure: Failure {
    let kind: Failure.Kind =
      switch code {
      case .unusable: .unwritableData
      case .damaged: .corruptData
      case .inUse: .lockedData
      case .store, .erased: .unavailable
      }
    return Failure(kind: kind, message: message)
  }
}

extension KeyRingError: FailureCause {
  package var failure: Failure {
    var message = description
    if code == .foreignOwner, geteuid() == 0, let user = owner(of: path) {
      // Giving the keys to root would take them from the service.
      message += "; run this command as that user: `\(commandPrefix(asUser: user)) …`"
    }
    return Failure(kind: code == .exists ? .unwritableData : .unusableKeys, message: message)
  }
}

extension ConfigurationErrors: FailureCause {
  package var failure: Failure { Failure(kind: areOfFlags ? .usage : .badConfiguration, places: lines) }
}

/// For files that the configuration or a flag names.
extension RPCTLSError: FailureCause {
  package var failure: Failure { Failure(kind: .badConfiguration, message: "tls: \(self)") }
}

private func owner(of path: String) -> uid_t? {
  var status = stat()
  return stat(path, &status) == 0 ? status.st_uid : nil
}
