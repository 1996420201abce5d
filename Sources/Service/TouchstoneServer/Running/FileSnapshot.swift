// The files of a configuration at one moment, as stat(2) describes them.

internal import Glibc

/// Another file, or another content, has another identity.
struct FileIdentity: Sendable, Hashable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  /// Whether the service may read it, and who else may, depends on them.
  private let (mode, user, group): (UInt32, UInt32, UInt32)
  /// The times of the last change of the content, and of anything else, in nanoseconds.
  private let (modified, changed): (Int64, Int64)

  /// Follows links, as Kubernetes makes them. Returns `nil` if there is no file.
  init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    (mode, user, group) = (status.st_mode, status.st_uid, status.st_gid)
    modified = withUnsafeBytes(of: status.st_mtim, nanoseconds)
    changed = withUnsafeBytes(of: status.st_ctim, nanoseconds)
  }
}

/// The identities of files, by the settings that name them.
struct FileSnapshot: Sendable, Hashable {
  private struct Entry: Sendable, Hashable {
    let path: String
    /// A directory's own comes first, then those of all that is in it.
    let identities: [FileIdentity?]
  }

  private var entries: [String: Entry] = [:]

  init() {}

  /// The same files as they are now.
  var takenAgain: FileSnapshot {
    var now = FileSnapshot()
    for (setting, entry) in entries { now.add(setting, entry.path) }
    return now
  }

  mutating func retake(_ setting: String) {
    if let path = entries[setting]?.path { add(setting, path) }
  }

  mutating func add(_ setting: String, _ path: String) {
    var budget = Self.maximumEntries
    entries[setting] = Entry(path: path, identities: Self.identities(of: path, depth: Self.maximumDepth, &budget))
  }

  /// A file whose identity was taken before it was read.
  mutating func add(_ setting: String, _ path: String, _ identity: FileIdentity?) {
    entries[setting] = Entry(path: path, identities: [identity])
  }

  /// The settings whose files are others, in order.
  func settings(changedSince earlier: FileSnapshot) -> [String] {
    Set(entries.keys).union(earlier.entries.keys).filter { entries[$0] != earlier.entries[$0] }.sorted()
  }

  /// Keys are in a directory in a directory.
  private static let maximumDepth = 2
  /// Many times the keys of a service. Changes beyond are not seen, and SIGHUP takes them.
  private static let maximumEntries = 1_000

  private static func identities(of path: String, depth: Int, _ budget: inout Int) -> [FileIdentity?] {
    var found = [FileIdentity(of: path)]
    guard depth > 0, let directory = opendir(path) else { return found }
    defer { closedir(directory) }
    var names: [String] = []
    while budget > 0, let entry = readdir(directory) {
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
      // By its address: a copy of the entry would read beyond what the directory holds.
      let name = String(cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
      guard name != ".", name != ".." else { continue }
      names.append(name)
      budget -= 1
    }
    for name in names.sorted() { found += identities(of: "\(path)/\(name)", depth: depth - 1, &budget) }
    return found
  }
}

extension ProcessConfiguration {
  /// The files that a reload reads, as they are now.
  ///
  /// - Parameter tls: the settings in force, because others wait for a restart.
  func files(_ tls: TLSSettings?) -> FileSnapshot {
    var snapshot = FileSnapshot()
    if let path = origin?.path { snapshot.add("configuration", path, origin?.identity) }
    for (setting, path) in (tls?.namedFiles ?? []) + attestation.namedFiles { snapshot.add(setting, path) }
    if case .path(let path) = keySource { snapshot.add(Self.keysSetting, path) }
    return snapshot
  }
}
