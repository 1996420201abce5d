internal import Encodings

/// The functions behind `touchstone keys`, on a directory of keys.
public enum KeyStore {
  /// Sealed and signed objects live an hour at most. The rest is for clocks that differ, and for replicas that learned
  /// late of the next key.
  public static let timeAfterRetirement: Duration = .seconds(2 * 60 * 60)

  /// A key as it may be printed.
  public struct Entry: Sendable, Hashable {
    public var kind: KeyKind
    /// Within the directory.
    public var file: String
    /// Identifies the key and reveals nothing of its secret; for a signing key the `kid`.
    public var id: String
    public var standing: Standing

    public enum Standing: Sendable, Hashable {
      case coming(from: Int64)
      case active
      /// `nil`: the time is unknown.
      case retired(since: Int64?)
      /// Every object that was made with it has expired.
      case prunable
    }
  }

  /// Makes a first set, if there is nothing yet. Makes the directory if it is missing, but not its parent.
  public static func create(directory path: String) throws(KeyRingError) {
    guard try SecretDirectory.isEmptyOrMissing(path) else {
      throw KeyRingError(code: .exists, path: path, reason: "is not empty; keys are made in a directory of their own")
    }
    _ = try KeyRing.loadOrCreate(directory: path)
  }

  /// - Parameter time: now, in Unix seconds.
  public static func list(directory path: String, at time: Int64) throws(KeyRingError) -> [Entry] {
    let directory = try KeyDirectory.open(path)
    let material = try directory.material()
    let ring = try KeyRing(material) { "\(path)/\($0)" }
    return entries(.sealing, ring.sealing.succession, at: time) { $0.name }
      + entries(.signing, ring.signing.succession, at: time) { $0.keyID }
      + (ring.audit.map { entries(.audit, $0.succession, at: time) { $0.keyID } } ?? [])
  }

  /// The public halves of the audit keys, in PEM with a line before each that names it, for auditors of the audit log
  /// (`AuditVerifier`).
  ///
  /// - Parameter path: a directory, or a bundle in a file.
  public static func publicAuditKeys(path: String) throws(KeyRingError) -> [String] {
    guard let keys = try KeyRing.load(path: path).audit?.accepted else {
      throw KeyRingError(
        code: .missing, path: path,
        reason: "holds no audit key; `touchstone keys rotate DIRECTORY audit --after 1h` adds one")
    }
    return keys.flatMap { ["audit key \($0.keyID)", $0.publicKey.pem] }
  }

  /// Adds a first audit key to keys that have none. Returns whether it did.
  public static func addMissingAuditKey(directory path: String) throws(KeyRingError) -> Bool {
    let directory = try KeyDirectory.open(path)
    guard try directory.ring().audit == nil else { return false }
    try directory.createWhatIsMissing()
    return true
  }

  /// Adds a key that is used from `time` on (Unix seconds). Returns its file's name in the directory.
  public static func rotate(
    directory path: String, _ kind: KeyKind, usedFrom time: Int64
  ) throws(KeyRingError) -> String {
    try KeyDirectory.open(path).addKey(of: kind, usedFrom: time).path
  }

  /// Removes the keys whose objects have all expired. Returns their files' names in the directory.
  ///
  /// - Parameter time: now, in Unix seconds.
  public static func prune(directory path: String, at time: Int64) throws(KeyRingError) -> [String] {
    let directory = try KeyDirectory.open(path)
    try directory.lock()
    let useless = try list(directory: path, at: time).filter { $0.standing == .prunable }
    for entry in useless {
      let name = entry.file.split(separator: "/").last.map(String.init) ?? ""
      guard let name = KeyFileName(name, kind: entry.kind) else { preconditionFailure("a listed key has a name") }
      try directory.remove(name)
    }
    return useless.map(\.file)
  }

  /// All keys as one text, for `TOUCHSTONE_KEYS` or for a file; see `KeyBundle`.
  public static func export(directory path: String) throws(KeyRingError) -> String {
    let material = try KeyDirectory.open(path).material()
    // Keys that a service would refuse are not exported.
    _ = try KeyRing(material) { "\(path)/\($0)" }
    return KeyBundle.text(of: material)
  }

  private static func entries<Key>(
    _ kind: KeyKind, _ succession: KeySuccession<Key>, at time: Int64, id: (Key) -> String
  ) -> [Entry] {
    succession.members.enumerated().map { index, member in
      let name = KeyFileName(kind: kind, number: member.number, usedFrom: member.usedFrom)
      return Entry(
        kind: kind, file: name.path, id: id(member.key),
        standing: standing(succession.standing(of: index, at: time), kind, time))
    }
  }

  private static func standing<Key>(
    _ standing: KeySuccession<Key>.Standing, _ kind: KeyKind, _ now: Int64
  ) -> Entry.Standing {
    switch standing {
    case .coming(let from): .coming(from: from)
    case .active: .active
    // An audit key's signatures stay as long as the log.
    case .retired(let since?) where kind != .audit && now - since > timeAfterRetirement.components.seconds: .prunable
    case .retired(let since): .retired(since: since)
    }
  }
}

extension SealingKey {
  /// Its printable id.
  var name: String { Hexadecimal.text(id) }
}
