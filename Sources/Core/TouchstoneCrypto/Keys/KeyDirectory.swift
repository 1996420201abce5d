/// Keys in a directory of the layout that `KeyRing` describes: reads, makes, rotates and prunes them.
struct KeyDirectory: ~Copyable {
  private let directory: SecretDirectory
  private let sealing: SecretDirectory
  private let signing: SecretDirectory

  /// An existing directory.
  static func open(_ path: String) throws(KeyRingError) -> KeyDirectory {
    try requireKeys(at: path)
    let directory = try SecretDirectory.open(path)
    return KeyDirectory(
      sealing: try directory.subdirectory(KeyKind.sealing.rawValue),
      signing: try directory.subdirectory(KeyKind.signing.rawValue), of: directory)
  }

  /// Names a directory without any keys as such, before its permissions are checked: to close a stranger's directory,
  /// or to restore keys to it, would be the wrong advice. What cannot be listed is reported when it is opened.
  private static func requireKeys(at path: String) throws(KeyRingError) {
    guard let names = SecretDirectory.fileNames(at: path) else { return }
    let own = KeyKind.allCases.map(\.rawValue) + [KeyMaterial.pepperName]
    guard !names.contains(where: own.contains) else { return }
    let isOfData = names.contains(keysOfDataDirectory)
    throw KeyRingError(
      code: .missing, path: path,
      reason: isOfData
        ? "holds no keys; is it the data directory? Its keys are in \(path)/\(keysOfDataDirectory)"
        : "holds no keys: name the directory that `touchstone keys new` made, or restore them from a backup")
  }

  /// The name of a service's keys in its data directory.
  private static let keysOfDataDirectory = "keys"

  static func openOrCreate(_ path: String) throws(KeyRingError) -> KeyDirectory {
    let directory = try SecretDirectory.openOrCreate(path)
    return KeyDirectory(
      sealing: try directory.subdirectoryOrCreated(KeyKind.sealing.rawValue),
      signing: try directory.subdirectoryOrCreated(KeyKind.signing.rawValue), of: directory)
  }

  private init(
    sealing: consuming SecretDirectory, signing: consuming SecretDirectory, of directory: consuming SecretDirectory
  ) {
    self.directory = directory
    self.sealing = sealing
    self.signing = signing
  }

  var path: String { directory.path }

  // MARK: Reading

  func material() throws(KeyRingError) -> KeyMaterial {
    let pepper = try directory.read(KeyMaterial.pepperName, maximumByteCount: Pepper.byteCount)
    var keys: [KeyFileName: SecretBytes] = [:]
    for kind in KeyKind.allCases {
      for name in try names(of: kind) {
        keys[name] = try read(name)
      }
    }
    return KeyMaterial(pepper: pepper, keys: keys)
  }

  func ring() throws(KeyRingError) -> KeyRing {
    try KeyRing(material()) { [path] in "\(path)/\($0)" }
  }

  private func read(_ name: KeyFileName) throws(KeyRingError) -> SecretBytes {
    switch name.kind {
    case .sealing: try sealing.read(name.text, maximumByteCount: name.kind.maximumByteCount)
    case .signing: try signing.read(name.text, maximumByteCount: name.kind.maximumByteCount)
    case .audit: try audit().read(name.text, maximumByteCount: name.kind.maximumByteCount)
    }
  }

  /// Opened each time, because it is missing if the keys have no audit key yet.
  private func audit() throws(KeyRingError) -> SecretDirectory {
    try directory.subdirectory(KeyKind.audit.rawValue)
  }

  private func auditFileNames() throws(KeyRingError) -> [String] {
    do throws(KeyRingError) {
      return try audit().fileNames()
    } catch {
      guard error.code == .missing else { throw error }
      return []
    }
  }

  /// Skips names that begin with a point: unfinished files of a dead process, or the mount's own. Other names that are
  /// not a key's throw, because a misspelt key would be noticed only when something fails.
  private func names(of kind: KeyKind) throws(KeyRingError) -> [KeyFileName] {
    let all =
      switch kind {
      case .sealing: try sealing.fileNames()
      case .signing: try signing.fileNames()
      case .audit: try auditFileNames()
      }
    var names: [KeyFileName] = []
    for name in all where !name.hasPrefix(".") {
      guard let parsed = KeyFileName(name, kind: kind) else {
        throw KeyRingError(
          code: .unexpectedFile, path: "\(path)/\(kind.rawValue)/\(name)",
          reason: "is not named \(KeyFileName.form(of: kind))")
      }
      names.append(parsed)
    }
    return names
  }

  // MARK: Making

  /// If several processes do this at once, one of them makes each file.
  func createWhatIsMissing() throws(KeyRingError) {
    // The pepper is made before any key. Keys without a pepper therefore mean that it was lost, and a new one would
    // silently void every passcode.
    if try names(of: .sealing).isEmpty, try names(of: .signing).isEmpty {
      try directory.createIfAbsent(KeyMaterial.pepperName, contents: randomBytes(Pepper.byteCount))
    }
    for kind in KeyKind.allCases where try names(of: kind).isEmpty {
      try create(KeyFileName(kind: kind, number: 1))
    }
  }

  /// `false` if it was there already.
  @discardableResult
  private func create(_ name: KeyFileName) throws(KeyRingError) -> Bool {
    var contents = KeyMaterial.newKey(of: name.kind).withBytes { Array($0) }
    defer { SecretBytes.wipe(&contents) }
    return switch name.kind {
    case .sealing: try sealing.createIfAbsent(name.text, contents: contents)
    case .signing: try signing.createIfAbsent(name.text, contents: contents)
    case .audit:
      try directory.subdirectoryOrCreated(KeyKind.audit.rawValue).createIfAbsent(name.text, contents: contents)
    }
  }

  /// Serializes processes that read the directory and then change it.
  func lock() throws(KeyRingError) {
    try directory.lock()
  }

  /// Adds a key after all others of its kind.
  func addKey(of kind: KeyKind, usedFrom time: Int64) throws(KeyRingError) -> KeyFileName {
    // Two processes at once would use the same number for different times, and so different names.
    try lock()
    // Adds nothing to keys that a service would refuse.
    _ = try ring()
    let names = try names(of: kind)
    guard names.count < KeyMaterial.maximumKeysOfAKind else {
      throw KeyRingError(
        code: .tooManyKeys, path: "\(path)/\(kind.rawValue)", reason: "is full; `touchstone keys prune` makes room")
    }
    let name = KeyFileName(kind: kind, number: (names.map(\.number).max() ?? 0) + 1, usedFrom: time)
    guard try create(name) else {
      throw KeyRingError(code: .exists, path: "\(path)/\(name.path)", reason: "was made by another process just now")
    }
    return name
  }

  func remove(_ name: KeyFileName) throws(KeyRingError) {
    switch name.kind {
    case .sealing: try sealing.remove(name.text)
    case .signing: try signing.remove(name.text)
    case .audit: try audit().remove(name.text)
    }
  }
}
