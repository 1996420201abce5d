// Where the service's keys live, how they come to be and how they are rotated.

/// All secrets of one service. Every replica that is to understand another's evaluations and tokens has the same.
///
///     <directory>/             mode 0700
///       pepper                 32 bytes; never rotated (see `Pepper`)
///       sealing/1.key          32 bytes each
///       signing/1.pem          P-256 private keys, PKCS#8 or SEC 1
///
/// Files have mode 0600 (or stricter) and belong to the service's user or root.
///
/// ## Rotation
/// The highest number is the active key; lower ones are still accepted; `<number>.next.pem` and `<number>.next.key` are accepted and,
/// for signing, published, but not used yet. Keys are read at start, so each step ends with a restart of every replica:
///
/// 1. Put the new key beside the old, under a umask of 077: `openssl genpkey -algorithm EC -pkeyopt
///    ec_paramgen_curve:P-256 -out signing/2.next.pem`, or `openssl rand -out sealing/2.next.key 32`.
/// 2. Once every replica has it, and everyone who keeps the JWK Set has fetched it anew: `mv signing/2.next.pem signing/2.pem`.
/// 3. Once the last token or evaluation under the old key has expired: `rm signing/1.pem`.
public struct KeyRing: Sendable {
  public let signing: SigningKeys
  public let sealing: SealingKeys
  public let pepper: Pepper

  public init(signing: SigningKeys, sealing: SealingKeys, pepper: Pepper) {
    self.signing = signing
    self.sealing = sealing
    self.pepper = pepper
  }

  /// Reads the keys, after making those of a first start. Blocks on the disk.
  ///
  /// The directory is made where it is missing, its parent is not. No existing file is ever written to. Of several
  /// processes that start at once on an empty directory one makes each file, and all return the same keys.
  public static func loadOrCreate(directory path: String) throws(KeyRingError) -> KeyRing {
    let directory = try SecretDirectory.openOrCreate(path)
    let sealingDirectory = try directory.subdirectory("sealing")
    let signingDirectory = try directory.subdirectory("signing")

    // The pepper is made before any key. So keys without a pepper mean that it was lost, and a new one would silently
    // void every passcode.
    let sealingNames = try sealingDirectory.keyFileNames(suffix: sealingSuffix)
    let signingNames = try signingDirectory.keyFileNames(suffix: signingSuffix)
    if sealingNames.isEmpty, signingNames.isEmpty {
      try directory.createIfAbsent(pepperName, contents: randomBytes(Pepper.byteCount))
    }
    let pepper = try directory.load(pepperName, maximumByteCount: Pepper.byteCount) { bytes throws(CryptoError) in
      try Pepper(bytes: bytes)
    }

    let sealing = try loadOrCreateKeys(
      in: sealingDirectory, suffix: sealingSuffix, maximumByteCount: SealingKey.byteCount,
      firstKey: { randomBytes(SealingKey.byteCount) },
      parse: { bytes throws(CryptoError) in try SealingKey(bytes: bytes) },
      identity: { Base64URL.encode($0.id) })
    let signing = try loadOrCreateKeys(
      in: signingDirectory, suffix: signingSuffix, maximumByteCount: maximumPEMByteCount,
      firstKey: { Array(SigningKey.random().pem.utf8) },
      parse: { bytes throws(CryptoError) in try SigningKey(pem: String(decoding: bytes, as: UTF8.self)) },
      identity: \.keyID)
    return KeyRing(
      signing: SigningKeys(active: signing.active, others: signing.others),
      sealing: SealingKeys(active: sealing.active, others: sealing.others), pepper: pepper)
  }

  /// Keys that live as long as the process, for tests and demonstrations.
  public static func ephemeral() -> KeyRing {
    KeyRing(
      signing: SigningKeys(active: .random()), sealing: SealingKeys(active: .random()), pepper: Pepper.random())
  }

  static let pepperName = "pepper"
  static let sealingSuffix = ".key"
  static let signingSuffix = ".pem"

  /// A P-256 key in PKCS#8 PEM takes 241 bytes, in SEC 1 227.
  private static let maximumPEMByteCount = 1024

  private static func loadOrCreateKeys<Key>(
    in directory: borrowing SecretDirectory, suffix: String, maximumByteCount: Int, firstKey: () -> [UInt8],
    parse: ([UInt8]) throws(CryptoError) -> Key, identity: (Key) -> String
  ) throws(KeyRingError) -> (active: Key, others: [Key]) {
    var names = try directory.keyFileNames(suffix: suffix)
    if names.isEmpty {
      try directory.createIfAbsent(KeyFileName(number: 1, isNext: false).text(suffix: suffix), contents: firstKey())
      names = try directory.keyFileNames(suffix: suffix)
    }
    guard let activeName = names.filter({ !$0.isNext }).max(by: { $0.number < $1.number }) else {
      throw KeyRingError(
        code: .noActiveKey, path: directory.path, reason: "holds only keys to come; rename one without \".next\"")
    }

    var active: Key?
    var others: [Key] = []
    var identities: Set<String> = []
    for name in names.sorted() {
      let fileName = name.text(suffix: suffix)
      let key = try directory.load(fileName, maximumByteCount: maximumByteCount, parse: parse)
      guard identities.insert(identity(key)).inserted else {
        throw KeyRingError(
          code: .duplicateKey, path: directory.path(of: fileName), reason: "holds the same key as another file")
      }
      if name == activeName { active = key } else { others.append(key) }
    }
    return (active!, others)
  }
}

/// `<number>.pem`, or `<number>.next.pem` for a key to come.
struct KeyFileName: Hashable, Comparable {
  var number: Int
  var isNext: Bool

  init(number: Int, isNext: Bool) {
    self.number = number
    self.isNext = isNext
  }

  /// `nil` for any other name. Numbers have no leading zero and at most nine digits.
  init?(_ name: String, suffix: String) {
    guard name.hasSuffix(suffix) else { return nil }
    let stem = name.dropLast(suffix.count)
    let isNext = stem.hasSuffix(Self.nextMark)
    let digits = isNext ? stem.dropLast(Self.nextMark.count) : stem
    guard let number = Int(digits), (1...999_999_999).contains(number), String(number) == digits else { return nil }
    self.init(number: number, isNext: isNext)
  }

  func text(suffix: String) -> String {
    "\(number)\(isNext ? Self.nextMark : "")\(suffix)"
  }

  static func < (left: Self, right: Self) -> Bool {
    (left.number, left.isNext ? 1 : 0) < (right.number, right.isNext ? 1 : 0)
  }

  private static let nextMark = ".next"
}

extension SecretDirectory {
  /// Every forgotten key lengthens the check of each token, and more than a rotation's three are a mistake.
  private static let maximumKeyCount = 16

  /// Names that begin with a point are passed over: they are unfinished files of a process that died. Others that name no
  /// key throw, since a misspelt key would be missed only when something fails.
  fileprivate func keyFileNames(suffix: String) throws(KeyRingError) -> [KeyFileName] {
    var names: [KeyFileName] = []
    for name in try fileNames() where !name.hasPrefix(".") {
      guard let parsed = KeyFileName(name, suffix: suffix) else {
        throw KeyRingError(
          code: .unexpectedFile, path: path(of: name),
          reason: "is not named <number>\(suffix) or <number>.next\(suffix)")
      }
      names.append(parsed)
    }
    guard names.count <= Self.maximumKeyCount else {
      throw KeyRingError(code: .tooManyKeys, path: path, reason: "holds more than \(Self.maximumKeyCount) keys")
    }
    return names
  }

  /// What `parse` makes of a file; its error names the file.
  fileprivate func load<Value>(
    _ name: String, maximumByteCount: Int, parse: ([UInt8]) throws(CryptoError) -> Value
  ) throws(KeyRingError) -> Value {
    let bytes = try read(name, maximumByteCount: maximumByteCount)
    do throws(CryptoError) {
      return try parse(bytes)
    } catch {
      throw KeyRingError(code: .malformed, path: path(of: name), reason: error.message)
    }
  }
}
