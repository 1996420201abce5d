// Loads the keys of this process, and checks that they belong to the database.

internal import Glibc
package import TouchstoneCrypto
internal import TouchstoneStore

package enum KeySource: Sendable {
  /// A directory, or a bundle in a file.
  case path(String)
  /// The value of TOUCHSTONE_KEYS at the start of the process.
  case environment(SecretBytes)

  static let environmentVariable = "TOUCHSTONE_KEYS"

  /// The source's name in log lines and errors.
  package var name: String {
    switch self {
    case .path(let path): path
    case .environment: Self.environmentVariable
    }
  }

  /// Takes the bundle out of the environment, so that neither child processes nor readers of /proc/PID/environ see it.
  /// Returns `nil` if there is none. Must be called before there are other threads.
  package static func takeFromEnvironment() -> KeySource? {
    guard let value = getenv(environmentVariable), value.pointee != 0 else { return nil }
    let buffer = UnsafeMutableRawBufferPointer(start: value, count: strlen(value))
    let bundle = SecretBytes(buffer)
    SecretBytes.wipe(buffer)
    unsetenv(environmentVariable)
    return .environment(bundle)
  }

  /// Loads the keys and makes none.
  package func load() throws(Failure) -> KeyRing {
    try failing { () throws(KeyRingError) in
      switch self {
      case .path(let path): try KeyRing.load(path: path)
      case .environment(let bundle): try KeyRing.load(bundle: bundle, from: name)
      }
    }
  }

  /// Loads the keys, and makes them at a first start.
  private func loadOrCreate() throws(Failure) -> KeyRing {
    guard case .path(let path) = self, !isFile(path) else { return try load() }
    return try failing { () throws(KeyRingError) in try KeyRing.loadOrCreate(directory: path) }
  }

  /// Adds an audit key to older keys without one. If that fails, as in a read-only directory, the service runs without
  /// an audit key, and the log says so.
  private func addingAuditKey(to keys: KeyRing) throws(Failure) -> KeyRing {
    guard case .path(let path) = self, !isFile(path), (try? KeyStore.addMissingAuditKey(directory: path)) == true else {
      return keys
    }
    return try load()
  }

  private func isFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  // MARK: For a store

  /// Makes keys only for an empty store of one process: new keys beside old data would silently void every token and
  /// ProfileTouchID, and each of two replicas would make its own.
  func load(for store: any Store, mayCreate: Bool) throws(Failure) -> KeyRing {
    var isNew = false
    if mayCreate { isNew = try answer { store.eventChainHead(completion: $0) } == .genesis }
    var keys = try isNew ? loadOrCreate() : load()
    if mayCreate, keys.audit == nil { keys = try addingAuditKey(to: keys) }
    let check = keys.pepper.check
    let known = try answer { store.keyCheck(initially: check, completion: $0) }
    guard Pepper.areEqual(known, check) else {
      throw Failure(
        kind: .unusableKeys,
        message:
          "\(name): these are not the keys that the database was begun with, and nothing in it could be verified "
          + "with them: give it those, from another replica or a backup")
    }
    return keys
  }
}
