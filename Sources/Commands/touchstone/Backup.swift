// `touchstone backup` copies a data directory's database to one file; `touchstone restore` makes a data directory of
// it.

internal import ArgumentParser
internal import Encodings
internal import FilePermissions
internal import Glibc
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneServer
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

struct Backup: FallibleCommand {
  static let configuration = CommandConfiguration(
    abstract: "Back up a data directory's database to one file, beside a running service.",
    discussion: """
      The copy is the database at one moment, with everything that was answered before. It is read again and verified \
      before it gets its name, has mode 0600, and replaces no other file. It holds no keys, because an attacker with both could \
      forge tokens and guess passcodes. Keep a copy of the keys elsewhere. A file beside it, with ".signature" at the end of its name, \
      holds its digest, signed by the audit key: `restore` requires it, because write access to records is write access to \
      accounts. No other user may be able to change the directory.
      """)

  @Option(help: ArgumentHelp("The service's data directory.", valueName: "directory"), completion: .directory)
  var dataDir: String

  @Option(
    help: ArgumentHelp(
      "A file that does not exist yet; or a directory, where the file is named by the time.",
      valueName: "file|directory"), completion: .file())
  var to: String

  @OptionGroup var keys: BackupKeys

  func perform() throws(Failure) {
    let file = isDirectory(to) ? "\(to)/touchstone-\(CalendarTime.basic(systemTime().seconds)).db" : to
    try requireProtectedWay(to: file)
    // Before the copy, which may take long.
    let auditKeys = try keys.load(dataDirectory: dataDir)
    var signature: BackupSignature?
    let summary = try failing { () throws(StoreOpenError) in
      try SQLiteBackup.write(directory: dataDir, to: file) { copy throws(StoreOpenError) in
        signature = try sign(copy, by: auditKeys, at: BackupSignature.path(of: file))
      }
    }
    printLine("\(file): \(summary.text)")
    printLine(summary.events.text)
    if let signature {
      let digest = Hexadecimal.text(signature.digest)
      printLine("\(BackupSignature.path(of: file)): SHA-256 \(digest), signed by audit key \(signature.keyID)")
    }
    printLine(
      "NOT in it: the keys (\(dataDir)/keys, unless the configuration says otherwise). Without them no passcode, gesture, "
        + "ProfileTouchID or token of this backup can be verified. Keep a copy of them apart from it.")
  }
}

extension Backup {
  /// Before the copy has its name: no backup is without its signature, however early the process ends. One without a
  /// backup says nothing, and the next backup of the name replaces it.
  private func sign(
    _ copy: String, by keys: AuditKeys, at path: String
  ) throws(StoreOpenError) -> BackupSignature {
    guard let digest = BackupSignature.digest(ofFile: copy) else { throw .unreadable(copy, errno) }
    guard let signature = BackupSignature(digest: digest, by: keys, at: systemTime().seconds) else {
      throw StoreOpenError(
        code: .unprotected,
        message: "no backup is made: the only audit key, which signs it, is not in use yet; try again later")
    }
    guard write(path, signature.text) else {
      throw StoreOpenError(
        code: .unwritable, message: "\(path): cannot be written: \(String(cString: strerror(errno)))")
    }
    return signature
  }
}

/// The keys that sign a backup, and verify its signature.
struct BackupKeys: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The service's keys: a directory or a bundle. Unless given: those of --config, or DATA-DIR/keys.",
      valueName: "path"), completion: .file())
  var keys: String?

  @Option(
    help: ArgumentHelp("The service's YAML settings, which say where the keys are.", valueName: "file"),
    completion: .file())
  var config: String?

  func load(dataDirectory: String) throws(Failure) -> AuditKeys {
    var source = KeySource.path(keys ?? dataDirectory + "/keys")
    if keys == nil, let config {
      source = try ConfigurationSources.take(flags: []).load(config).keySource(forDataDirectory: dataDirectory)
    }
    // New keys would not help: they verify no earlier backup.
    if case .path(let path) = source, access(path, F_OK) != 0, errno == ENOENT {
      throw Failure(
        kind: .unusableKeys,
        message: "\(path): is missing: put back the service's keys, which sign its backups, or name them with --keys")
    }
    guard let audit = try source.load().audit else {
      throw Failure(
        kind: .unusableKeys,
        message: "the keys hold no audit key, which signs backups: "
          + "`touchstone keys rotate DIRECTORY audit --after 1h` adds one")
    }
    return audit
  }
}

struct Restore: FallibleCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a data directory of a backup.",
    discussion: """
      The backup is verified first, also its signature by the service's audit key: put the keys back before, or say where they are. \
      The directory is made, or must be empty except for its keys. All changes after the \
      backup are lost, so everything issued before the restoration is void: open evaluations, tickets, tokens. Bindings \
      that were revoked after the backup are active again, passcodes and counts of failures are the old ones, and erased \
      profiles are back. A copy of the audit log shows what to repeat.
      """)

  @Option(help: ArgumentHelp("A file that `touchstone backup` made.", valueName: "file"), completion: .file())
  var from: String

  @Option(help: ArgumentHelp("The service's data directory.", valueName: "directory"), completion: .directory)
  var dataDir: String

  @OptionGroup var keys: BackupKeys

  @Flag(
    help: "Take a backup without a signature, as earlier versions made it. Only if no other user could change it since."
  )
  var unsigned = false

  func perform() throws(Failure) {
    try requireProtected(from)
    let auditKeys = unsigned ? nil : try keys.load(dataDirectory: dataDir)
    let (backup, restoration) = try failing { () throws(StoreOpenError) in
      try SQLiteBackup.restore(from: from, to: dataDir, at: systemTime()) { () throws(StoreOpenError) in
        if let auditKeys { try verifySignature(by: auditKeys) }
      }
    }
    printLine("\(dataDir): \(backup.text)")
    printLine(backup.events.text)
    for line in restoration.account { printLine(line) }
    if access("\(dataDir)/keys", F_OK) != 0 {
      let use = keys.keys.map { "Serve it with those of \($0)" } ?? "Put them into \(dataDir)/keys"
      printLine("MISSING: the keys. \(use), or where the configuration says, before it is served.")
    }
  }
}

extension Restore {
  private func verifySignature(by keys: AuditKeys) throws(StoreOpenError) {
    let path = BackupSignature.path(of: from)
    guard let text = try? readText(path, maximumBytes: BackupSignature.maximumBytes) else {
      throw StoreOpenError(
        code: .corrupt,
        message: "\(path) cannot be read: it is made with the backup; "
          + "restore a backup of an earlier version with --unsigned")
    }
    guard let signature = BackupSignature(text: text) else {
      throw StoreOpenError(code: .corrupt, message: "\(path) is no signature")
    }
    switch signature.check(by: keys) {
    case .valid: break
    case .unknownKey:
      throw StoreOpenError(
        code: .unprotected,
        message: "\(path) is signed by audit key \(signature.keyID), which is not among the given keys")
    case .forged:
      throw StoreOpenError(code: .corrupt, message: "\(path) is forged: its signature is not the audit key's")
    }
    guard let digest = BackupSignature.digest(ofFile: from) else { throw .unreadable(from, errno) }
    guard digest == signature.digest else {
      throw StoreOpenError(
        code: .corrupt, message: "\(from) is not as it was made: its SHA-256 is not the one in \(path)")
    }
  }
}

extension StoreOpenError {
  fileprivate static func unreadable(_ path: String, _ error: Int32) -> StoreOpenError {
    StoreOpenError(code: .unwritable, message: "\(path): cannot be read: \(String(cString: strerror(error)))")
  }
}

extension BackupSignature {
  fileprivate static func path(of backup: String) -> String { backup + ".signature" }
}

/// Other users must not be able to change what is read or written, as with the configuration: it becomes accounts.
private func requireProtected(_ path: String) throws(Failure) {
  do throws(FileError) {
    try requireProtection(ofFile: path)
  } catch {
    throw Failure(kind: .unprotectedData, message: "\(path): \(error.message)")
  }
}

private func requireProtectedWay(to path: String) throws(Failure) {
  guard let violation = FileProtection.violation(onTheWayTo: path) else { return }
  throw Failure(kind: .unprotectedData, message: "\(path): \(violation)")
}

/// Writes a file of mode 0600 to the disk. False sets errno.
private func write(_ path: String, _ text: String) -> Bool {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var text = text
  // A few hundred bytes are written at once, or not at all.
  return text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) == $0.count } && fsync(descriptor) == 0
}

private func isDirectory(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}

extension DatabaseSummary {
  /// Without the tables that have one row, whose count says nothing.
  fileprivate var text: String {
    let counts = tables.filter { Self.shown.contains($0.table) }.map { counted($0.rows, rowsOf: $0.table) }
    return "\(byteCount) bytes, whole: \(counts.joined(separator: ", "))"
  }

  private static let shown = ["bindings", "devices", "profiles", "evaluations", "tokens", "used_tickets"]
}

extension AuditLogVerification {
  var text: String {
    "\(counted(verifiedCount, "event")), each as it was written, \(erasedCount) of them erased; event \(head.sequence) is the last "
      + "and has hash \(Hexadecimal.text(head.hash))"
  }
}
