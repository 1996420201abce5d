// Where the keys of this process come from, and that they are the database's.

internal import Glibc
internal import Logging
internal import TouchstoneCrypto
internal import TouchstoneStore

enum KeySource: Sendable {
  /// A directory, or a bundle in a file.
  case path(String)
  /// What TOUCHSTONE_KEYS held when the process began.
  case environment(SecretBytes)

  static let environmentVariable = "TOUCHSTONE_KEYS"

  /// For people.
  var name: String {
    switch self {
    case .path(let path): path
    case .environment: Self.environmentVariable
    }
  }

  /// Takes the bundle out of the environment, so that nothing that this process starts, and nobody who reads
  /// /proc/PID/environ, sees it. `nil` where there is none. To be called before there are other threads.
  static func takeFromEnvironment() -> KeySource? {
    guard let value = getenv(environmentVariable), value.pointee != 0 else { return nil }
    let buffer = UnsafeMutableRawBufferPointer(start: value, count: strlen(value))
    let bundle = SecretBytes(buffer)
    SecretBytes.wipe(buffer)
    unsetenv(environmentVariable)
    return .environment(bundle)
  }

  /// Makes nothing.
  func load() throws(Failure) -> KeyRing {
    try failing { () throws(KeyRingError) in
      switch self {
      case .path(let path): try KeyRing.load(path: path)
      case .environment(let bundle): try KeyRing.load(bundle: bundle, from: name)
      }
    }
  }

  /// After making those of a first start.
  private func loadOrCreate() throws(Failure) -> KeyRing {
    guard case .path(let path) = self, !isFile(path) else { return try load() }
    return try failing { () throws(KeyRingError) in try KeyRing.loadOrCreate(directory: path) }
  }

  /// To keys that were made before there were audit keys. Where that fails, as in a directory that is read-only, it serves
  /// as it did before, and says that there is none.
  private func addingAuditKey(to keys: KeyRing) throws(Failure) -> KeyRing {
    guard case .path(let path) = self, !isFile(path), (try? KeyStore.addMissingAuditKey(directory: path)) == true else {
      return keys
    }
    return try load()
  }

  private func failing(_ body: () throws(KeyRingError) -> KeyRing) throws(Failure) -> KeyRing {
    do throws(KeyRingError) {
      return try body()
    } catch {
      throw Failure(error)
    }
  }

  private func isFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  // MARK: For a store

  /// Keys are only made for a store of one process in which nothing happened yet: new ones beside old data would void every
  /// token and ProfileTouchID without a word, and each of two replicas would make its own.
  func load(for store: any Store, mayCreate: Bool) throws(Failure) -> KeyRing {
    var isNew = false
    if mayCreate { isNew = try answer { store.eventChainHead(completion: $0) } == .genesis }
    var keys = try isNew ? loadOrCreate() : load()
    if mayCreate, keys.audit == nil { keys = try addingAuditKey(to: keys) }
    let check = keys.pepper.check
    let known = try answer { store.keyCheck(initially: check, completion: $0) }
    guard Pepper.areEqual(known, check) else {
      throw Failure(
        status: .unusableKeys,
        message:
          "\(name): these are not the keys that the database was begun with, and nothing in it could be verified "
          + "with them: give it those, from another replica or a backup")
    }
    return keys
  }
}

extension Failure {
  init(_ error: KeyRingError) {
    self.init(status: error.code == .exists ? .unwritableData : .unusableKeys, message: error.description)
  }
}
