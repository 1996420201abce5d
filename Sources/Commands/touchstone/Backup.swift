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

      With --to - the verified backup goes to stdout as one stream, which begins with the signature, and all else to stderr. \
      The data directory needs room for a copy meanwhile.
      """)

  @OptionGroup var place: BackupPlace

  @Option(
    help: ArgumentHelp(
      "A file that does not exist yet; a directory, where the file is named by the time; or - for stdout.",
      valueName: "file|directory|-"), completion: .file())
  var to: String

  func perform() throws(Failure) {
    let (dataDirectory, source) = try place.chosen()
    // Before the copy, which may take long.
    let auditKeys = try source.loadAuditKeys()
    guard to != BackupStream.name else { return try stream(dataDirectory, source, by: auditKeys) }
    let file = isDirectory(to) ? "\(to)/touchstone-\(CalendarTime.basic(systemTime().seconds)).db" : to
    var signature: BackupSignature?
    let summary = try failing { () throws(StoreOpenError) in
      try BackupFiles.requireProtectedWay(to: file)
      return try SQLiteBackup.write(directory: dataDirectory, to: file) { copy throws(StoreOpenError) in
        signature = try BackupFiles.sign(copy, as: file, by: auditKeys, at: systemTime())
      }
    }
    for line in account(of: summary, as: file) { printLine(line) }
    if let signature {
      let digest = Hexadecimal.text(signature.digest)
      printLine("\(BackupFiles.signaturePath(of: file)): SHA-256 \(digest), signed by audit key \(signature.keyID)")
    }
    printLine(keyNotice(source))
  }

  private func stream(_ dataDirectory: String, _ source: KeySource, by auditKeys: AuditKeys) throws(Failure) {
    guard isatty(STDOUT_FILENO) == 0 else {
      throw Failure(kind: .usage, message: "--to - writes a database: redirect stdout to a file or a command")
    }
    // A reader that is gone is an error with a line, and no signal that ends the process before its copy is removed.
    signal(SIGPIPE, SIG_IGN)
    // Lies in the data directory, which other users cannot change, until it ends.
    let (summary, signature) = try failing { () throws(StoreOpenError) in
      let copy = try SQLiteBackup.copy(directory: dataDirectory, to: "\(dataDirectory)/touchstone-stream.db")
      let summary = try copy.verified()
      let signature = try BackupFiles.signature(of: copy.path, by: auditKeys, at: systemTime())
      try copy.stream(after: Array(signature.text.utf8))
      return (summary, signature)
    }
    for line in account(of: summary, as: "stdout") { printError(line) }
    printError("SHA-256 \(Hexadecimal.text(signature.digest)), signed by audit key \(signature.keyID)")
    printError(keyNotice(source))
  }

  private func account(of summary: DatabaseSummary, as place: String) -> [String] {
    ["\(place): \(summary.text)", summary.events.text]
  }

  private func keyNotice(_ source: KeySource) -> String {
    "NOT in it: the keys (\(source.name)). Without them no passcode, gesture, ProfileTouchID or token "
      + "of this backup can be verified. Keep a copy of them apart from it."
  }
}

/// The data directory, and the keys that sign its backups.
struct BackupPlace: ParsableArguments {
  @Option(
    help: ArgumentHelp("The service's data directory. Unless given: that of --config.", valueName: "directory"),
    completion: .directory)
  var dataDir: String?

  @Option(
    help: ArgumentHelp(
      "The service's keys: a directory or a bundle. Unless given: those of --config, or DATA-DIR/keys.",
      valueName: "path"), completion: .file())
  var keys: String?

  @Option(
    help: ArgumentHelp("The service's YAML settings, which say where its data and keys are.", valueName: "file"),
    completion: .file())
  var config: String?

  func validate() throws {
    if dataDir == nil, config == nil { throw ValidationError("--data-dir or --config is needed") }
  }

  func chosen() throws(Failure) -> (dataDirectory: String, keys: KeySource) {
    let configuration = try config.map { file throws(Failure) in
      try ConfigurationSources.take(flags: []).load(file)
    }
    if dataDir == nil, let configuration, configuration.store != .sqlite {
      throw Failure(
        kind: .usage, message: "the store of \(config ?? "") is PostgreSQL, which has tools of its own for backups")
    }
    let directory = dataDir ?? configuration?.dataDirectory ?? ""
    let source = keys.map(KeySource.path) ?? configuration?.keySource(forDataDirectory: directory)
    return (directory, source ?? .path(directory + "/keys"))
  }
}

extension KeySource {
  /// The keys that sign backups, and verify their signatures.
  fileprivate func loadAuditKeys() throws(Failure) -> AuditKeys {
    // New keys would not help: they verify no earlier backup.
    if case .path(let path) = self, access(path, F_OK) != 0, errno == ENOENT {
      throw Failure(
        kind: .unusableKeys,
        message: "\(path): is missing: put back the service's keys, which sign its backups, or name them with --keys")
    }
    guard let audit = try load().audit else {
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

  @Option(
    help: ArgumentHelp("A file that `touchstone backup` made, or - for its stream on stdin.", valueName: "file|-"),
    completion: .file())
  var from: String

  @OptionGroup var place: BackupPlace

  @Flag(
    help: "Take a backup without a signature, as earlier versions made it. Only if no other user could change it since."
  )
  var unsigned = false

  func perform() throws(Failure) {
    let (dataDirectory, source) = try place.chosen()
    if from != BackupStream.name { try requireProtected(from) }
    let auditKeys = unsigned ? nil : try source.loadAuditKeys()
    let stream = try BackupStream(reading: from)
    // Before the copy: what a stranger signed fills no disk.
    if let auditKeys, let signature = stream.signature {
      try failing { () throws(StoreOpenError) in try requireGenuine(signature, by: auditKeys) }
    }
    let (backup, restoration) = try failing { () throws(StoreOpenError) in
      try SQLiteBackup.restore(
        from: from, stream.first, reading: stream.descriptor, to: dataDirectory, at: systemTime()
      ) {
        copy throws(StoreOpenError) in
        guard let auditKeys else { return }
        // The operator ?? would widen the error.
        let signature = if let first = stream.signature { first } else { try readSignature() }
        try verify(signature, of: copy, by: auditKeys)
      }
    }
    printLine("\(dataDirectory): \(backup.text)")
    printLine(backup.events.text)
    for line in restoration.account { printLine(line) }
    if place.keys != nil || unsigned, access("\(dataDirectory)/keys", F_OK) != 0 {
      let use = place.keys.map { "Serve it with those of \($0)" } ?? "Put them into \(dataDirectory)/keys"
      printLine("MISSING: the keys. \(use), or where the configuration says, before it is served.")
    }
  }
}

extension Restore {
  private var signaturePath: String { from == BackupStream.name ? "stdin" : BackupFiles.signaturePath(of: from) }

  /// Reads the file beside the backup.
  private func readSignature() throws(StoreOpenError) -> BackupSignature {
    let path = signaturePath
    guard from != BackupStream.name else {
      throw StoreOpenError(
        code: .corrupt,
        message: "stdin does not begin with the signature of a backup's stream: name a backup's file with --from")
    }
    guard let text = try? readText(path, maximumBytes: BackupSignature.maximumBytes) else {
      throw StoreOpenError(
        code: .corrupt,
        message: "\(path) cannot be read: it is made with the backup; "
          + "restore a backup of an earlier version with --unsigned")
    }
    guard let signature = BackupSignature(text: text) else {
      throw StoreOpenError(code: .corrupt, message: "\(path) is no signature")
    }
    return signature
  }

  /// - Parameter file: the bytes that were signed.
  private func verify(_ signature: BackupSignature, of file: String, by keys: AuditKeys) throws(StoreOpenError) {
    try requireGenuine(signature, by: keys)
    guard let digest = BackupSignature.digest(ofFile: file) else {
      throw StoreOpenError(code: .unwritable, message: "\(file): cannot be read: \(String(cString: strerror(errno)))")
    }
    guard digest == signature.digest else {
      throw StoreOpenError(
        code: .corrupt,
        message: from == BackupStream.name
          ? "the backup on stdin is not as it was made, or cut off: its SHA-256 is not the one that was signed"
          : "\(from) is not as it was made, or cut off: its SHA-256 is not the one in \(signaturePath)")
    }
  }

  private func requireGenuine(_ signature: BackupSignature, by keys: AuditKeys) throws(StoreOpenError) {
    let path = signaturePath
    switch signature.check(by: keys) {
    case .valid: break
    case .unknownKey:
      throw StoreOpenError(
        code: .unprotected,
        message: "\(path) is signed by audit key \(signature.keyID), which is not among the given keys")
    case .forged:
      throw StoreOpenError(code: .corrupt, message: "\(path) is forged: its signature is not the audit key's")
    }
  }
}

/// Other users must not be able to change what is read or written, as with the configuration: it becomes accounts.
private func requireProtected(_ path: String) throws(Failure) {
  do throws(FileError) {
    try requireProtection(ofFile: path)
  } catch {
    throw Failure(kind: .unprotectedData, message: "\(path): \(error.message)")
  }
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
