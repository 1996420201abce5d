// `touchstone audit archive` does by hand what `retention:` does by itself; `audit erase` erases in the archive's
// files.

internal import ArgumentParser
internal import Encodings
internal import Glibc
internal import TouchstoneArchive
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneServer
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

extension Audit {
  struct Archive: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Move the oldest events from the audit log into files.",
      discussion: """
        Each file is complete, durable and read back before any event is dropped; run it again if it was interrupted. With \
        PostgreSQL it may run beside services. A data directory must be free: a service archives by itself if its \
        configuration has `retention:`.
        """)

    @OptionGroup var location: Location

    @Option(
      help: ArgumentHelp("Archive events older than this: \(RetentionSettings.form).", valueName: "age"),
      transform: { text in
        guard let age = RetentionSettings.age(text) else { throw ValidationError("must be \(RetentionSettings.form)") }
        return age
      })
    var olderThan: Duration

    @Option(
      help: ArgumentHelp(
        "The directory of this log's files, and of no other's. Made if it is missing.", valueName: "directory"),
      completion: .directory)
    var archive: String

    @Flag(help: "The earlier archived files are elsewhere. Otherwise the last of them must be there.")
    var withoutEarlierFiles = false

    @OptionGroup var keyOption: AuditKeyOption

    func perform() throws(Failure) {
      // Before there are other threads.
      let ofEnvironment = KeySource.takeFromEnvironment()
      let configuration = try location.configuration()
      let store = try Self.openStore(configuration.storeLocation)
      do throws(Failure) {
        // Without an audit key, a log with signed accounts refuses to be archived.
        let keys = try keyOption.load(
          ofEnvironment ?? configuration.keys, otherwiseIn: location.keysDirectory(configuration))
        let auditKeyring = AuditKeyring(keys?.audit)
        let first = try answer { store.signAccounts(with: auditKeyring.accountKeys, completion: $0) }
        if let first { printLine(AccountSigning.advice(first)) }
        try archive(store)
      } catch {
        Self.close(store)
        throw error
      }
      Self.close(store)
    }

    private func archive(_ store: any Store) throws(Failure) {
      do throws(ArchiveError) {
        let archiver = EventArchiver(
          store: store, directory: archive, isWithoutEarlierFiles: withoutEarlierFiles)
        let now = systemTime()
        let present = try archiver.presentTime(at: now)
        if present < now { Self.tell(present, at: now) }
        var count: UInt64 = 0
        while true {
          switch try archiver.archive(olderThan: olderThan, at: present) {
          case .nothing:
            // Also removes rows that a service archived before it stopped without sweeping them.
            try archiver.removeRows()
            return printLine("\(counted(count, "event")) \(count == 1 ? "was" : "were") archived")
          case .busy: throw ArchiveError.anotherArchives
          case .archived(let file, let first, let last):
            printLine("\(file): events \(first) to \(last)")
            count += last - first + 1
          }
        }
      } catch {
        throw Failure(error)
      }
    }

    /// A running service has swept up to now; a stopped one, up to its stop.
    private static func tell(_ present: UnixTime, at now: UnixTime) {
      printLine(
        """
        this machine's clock is \((now - present).components.seconds) seconds ahead of how far services have swept this \
        database, so ages are counted from \(CalendarTime.instant(present.seconds)); if the clock is right, let a service run for an hour
        """)
    }

    private static func openStore(_ location: StoreLocation) throws(Failure) -> any Store {
      // Opening it would make one.
      if case .sqlite(let directory) = location, !SQLiteStore.isThere(in: directory) {
        throw Failure(kind: .noInput, message: "\(directory): there is no database of Touchstone's")
      }
      return try location.open(logger: standardErrorLogger())
    }

    private static func close(_ store: any Store) {
      let _: Void? = try? answer { done in store.close { done(.success(())) } }
    }
  }

  struct Erase: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Erase a profile's events in an archive's files.",
      discussion: """
        EraseProfile does so in the log; events that were archived before are out of its reach. Those of the profile lose \
        their content in every file of the directory and keep their places and hashes, so that the archive still \
        verifies; a verification counts them apart. Copies of the files elsewhere, and what the disk keeps of deleted \
        files, are yours.
        """)

    @Option(help: ArgumentHelp("Where the files are.", valueName: "directory"), completion: .directory)
    var archive: String

    @Option(help: ArgumentHelp("The profile's application.", valueName: "id"))
    var application: String?

    @Option(
      help: ArgumentHelp(
        "The profile; - reads it from stdin, a line, so that no list of processes has it.", valueName: "id"))
    var profile: String?

    @OptionGroup var keyOption: AuditKeyOption

    @Flag(
      help: """
        Erase nothing, but sign the unsigned erasures in these files. The signature vouches for all of them: compare the files \
        with their copies first, if other users may write there.
        """)
    var signEarlier = false

    func validate() throws {
      guard !signEarlier else {
        guard application == nil, profile == nil else {
          throw ValidationError("--sign-earlier takes neither --application nor --profile")
        }
        return
      }
      guard let application, let profile, !application.isEmpty, !profile.isEmpty else {
        throw ValidationError("--application and --profile are needed, and must not be empty")
      }
    }

    func perform() throws(Failure) {
      // Before there are other threads.
      let ofEnvironment = KeySource.takeFromEnvironment()
      let task = try task()
      let keyring = AuditKeyring(try keyOption.load(ofEnvironment)?.audit)
      let isSigned = keyring.signs(at: systemTime())
      if !isSigned, signEarlier || keyOption.isGiven(ofEnvironment) {
        throw Failure(
          kind: .unusableKeys, message: "there is no audit key in use: give --keys with one, or TOUCHSTONE_KEYS")
      }
      let eraser = try failing { () throws(ArchiveError) in
        try ArchiveEraser(directory: archive, task) { keyring.accountKeys.sign($0, systemTime()) }
      }
      let (events, files) = (eraser.changedEventCount, eraser.changedFileCount)
      printLine("\(counted(events, "event")) \(signEarlier ? "signed" : "erased"), in \(counted(files, "file"))")
      if !isSigned, events > 0 {
        printLine(
          "NOT SIGNED: `audit verify --audit-keys` refuses them until `audit erase --archive DIRECTORY --sign-earlier "
            + "--keys PATH` has signed them")
      }
    }

    /// The task that the validated options describe.
    private func task() throws(Failure) -> ArchiveEraser.Task {
      guard let application, let profile else { return .signEarlierErasures }
      return .erase(
        applicationID: application, profileID: profile == Self.standardInput ? try Self.readProfile() : profile)
    }

    private static let standardInput = "-"

    private static func readProfile() throws(Failure) -> String {
      guard let profile = readLine(), !profile.isEmpty else {
        throw Failure(kind: .usage, message: "--profile -: stdin must have the profile's id, in one line")
      }
      guard readLine() == nil else {
        throw Failure(kind: .usage, message: "--profile -: stdin has more than one line; erase one profile at a time")
      }
      return profile
    }
  }

  /// The audit key that signs the accounts of this process.
  struct AuditKeyOption: ParsableArguments {
    @Option(
      help: ArgumentHelp(
        """
        The keys, of which the audit key signs: a directory, or a file. Otherwise those of TOUCHSTONE_KEYS. With --config or \
        --data-dir, otherwise those that the configuration names; otherwise those in the data directory, under keys.
        """, valueName: "path"), completion: .file())
    var keys: String?

    func isGiven(_ ofEnvironment: KeySource?) -> Bool { keys != nil || ofEnvironment != nil }

    /// Returns `nil` if there are no keys.
    func load(_ other: KeySource?, otherwiseIn directory: String? = nil) throws(Failure) -> KeyRing? {
      if let source = keys.map({ KeySource.path($0) }) ?? other { return try source.load() }
      guard let directory, access(directory, F_OK) == 0 else { return nil }
      return try KeySource.path(directory).load()
    }
  }
}
