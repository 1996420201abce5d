// Where the service's keys live and what they are for.

/// All secrets of one service. Every replica that is to understand another's evaluations and tokens has the same.
///
///     <directory>/             mode 0700
///       pepper                 32 bytes; never rotated (see `Pepper`)
///       sealing/1.key          32 bytes each
///       signing/1.pem          P-256 private keys, PKCS#8 or SEC 1
///       audit/1.pem            the same; keys that were made before there were any have none
///
/// Files have mode 0600 (or stricter) and belong to the service's user; or to root, and may then be readable by a group,
/// by which root gives them to the service: so mount orchestrators their secrets. What others may read is refused.
///
/// Of each kind the key with the highest number is in use, of those whose time has come: the time stands in the name
/// (`2.from-20261121T213000Z.pem`). All others are accepted and, for signing, published. `KeyStore` rotates them.
public struct KeyRing: Sendable {
  public let signing: SigningKeys
  public let sealing: SealingKeys
  public let pepper: Pepper
  /// `nil`: accounts in the audit log are not signed.
  public let audit: AuditKeys?

  public init(signing: SigningKeys, sealing: SealingKeys, pepper: Pepper, audit: AuditKeys? = nil) {
    self.audit = audit
    self.signing = signing
    self.sealing = sealing
    self.pepper = pepper
  }

  /// How many there are, and by which ids `touchstone keys list` knows them, the latest first: for the log, which so tells
  /// whether every replica knows the same.
  public var summary: String {
    let audit = audit?.accepted ?? []
    let ids = sealing.accepted.map(\.name) + (signing.accepted + audit).map(\.keyID)
    let counts = "\(sealing.accepted.count) sealing, \(signing.accepted.count) signing, \(audit.count) audit"
    return "\(counts): \(ids.joined(separator: " "))"
  }

  /// Keys that live as long as the process, for tests and demonstrations.
  public static func ephemeral() -> KeyRing {
    KeyRing(
      signing: SigningKeys(active: .random()), sealing: SealingKeys(active: .random()), pepper: Pepper.random())
  }

  // MARK: Reading

  /// Reads the keys, after making those of a first start. Blocks on the disk.
  ///
  /// The directory is made where it is missing, its parent is not. No existing file is ever written to. Of several
  /// processes that start at once on an empty directory one makes each file, and all return the same keys.
  public static func loadOrCreate(directory path: String) throws(KeyRingError) -> KeyRing {
    let directory = try KeyDirectory.openOrCreate(path)
    try directory.createWhatIsMissing()
    return try directory.ring()
  }

  /// Reads a directory, or a bundle (see `KeyStore.export`) in a file. Makes nothing. Blocks on the disk.
  public static func load(path: String) throws(KeyRingError) -> KeyRing {
    guard try SecretDirectory.isFile(path) else { return try KeyDirectory.open(path).ring() }
    return try load(bundle: SecretDirectory.readFile(path, maximumByteCount: KeyBundle.maximumByteCount), from: path)
  }

  /// - Parameter source: what the bundle comes from, for errors.
  public static func load(bundle: SecretBytes, from source: String) throws(KeyRingError) -> KeyRing {
    try KeyRing(KeyBundle.read(bundle, from: source)) { "\(source): \($0)" }
  }
}
