/// All secrets of one service. Every replica that shares evaluations and tokens has the same.
///
///     <directory>/             mode 0700
///       pepper                 32 bytes; never rotated (see `Pepper`)
///       sealing/1.key          32 bytes each
///       signing/1.pem          P-256 private keys, PKCS#8 or SEC 1
///       audit/1.pem            the same; older key sets have none
///
/// Files have mode 0600 (or stricter) and belong to the service's user. They may also belong to root and then be
/// readable by a group, which is how orchestrators mount secrets. Files that other users can read are refused.
///
/// For each kind, the key with the highest number whose time has come is in use; the time is in the name
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

  /// The number of keys, and the ids that `touchstone keys list` prints, the latest first. The log shows by them
  /// whether every replica has the same keys.
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

  /// Reads the keys, and makes those of a first start before. Blocks on the disk.
  ///
  /// Makes the directory if it is missing, but not its parent. Never writes to an existing file. If several processes
  /// start at once on an empty directory, one of them makes each file, and all return the same keys.
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

  /// - Parameter source: where the bundle comes from, for errors.
  public static func load(bundle: SecretBytes, from source: String) throws(KeyRingError) -> KeyRing {
    try KeyRing(KeyBundle.read(bundle, from: source)) { "\(source): \($0)" }
  }
}
