// `touchstone audit archive` and `erase`: what `retention:` does by itself, by hand; and erasing where it has come.

internal import ArgumentParser
internal import Glibc
internal import TouchstoneArchive
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

extension Audit {
  struct Archive: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take the oldest events out of the audit log, into files.",
      discussion: """
        Files are whole, durable and read back before anything is dropped; run it again where it was cut short. With \
        PostgreSQL it may run beside services. A data directory must be free: a service archives for itself, by \
        `retention:` of its configuration.
        """)

    @OptionGroup var location: Location

    @Option(
      help: ArgumentHelp("What is older goes: \(RetentionSettings.form).", valueName: "age"),
      transform: { text in
        guard let age = RetentionSettings.age(text) else { throw ValidationError("must be \(RetentionSettings.form)") }
        return age
      })
    var olderThan: Duration

    @Option(
      help: ArgumentHelp("Where the files are, of this log alone. Made where it is missing.", valueName: "directory"))
    var archive: String

    @Flag(help: "The files of what was archived earlier are elsewhere; otherwise the last of them must be there.")
    var withoutEarlierFiles = false

    @Option(
      help: ArgumentHelp(
        """
        Where the keys are, of which the audit key signs what was archived: a directory, or a file. Else TOUCHSTONE_KEYS \
        holds them, else they are in the data directory, under keys.
        """, valueName: "path"))
    var keys: String?

    func run() throws {
      do throws(Failure) {
        // Before there are other threads.
        let ofEnvironment = KeySource.takeFromEnvironment()
        let store = try openStore()
        do throws(Failure) {
          let ring = try keySource(ofEnvironment)?.load()
          let auditKeyring = AuditKeyring(ring?.audit)
          try answer { store.signAccounts(with: auditKeyring.accountKeys, completion: $0) }
          try archive(store)
        } catch {
          Self.close(store)
          throw error
        }
        Self.close(store)
      } catch {
        fail(error)
      }
    }

    private func archive(_ store: any Store) throws(Failure) {
      do throws(ArchiveError) {
        let archiver = EventArchiver(
          store: store, directory: archive, isWithoutEarlierFiles: withoutEarlierFiles)
        let cutoff = systemTime() + (.zero - olderThan)
        var count: UInt64 = 0
        while true {
          switch try archiver.archive(before: cutoff) {
          case .nothing:
            // Also of what a service archived that was stopped before it swept.
            try archiver.removeRows()
            return printLine("\(count) events were archived")
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

    /// `nil`: a log whose accounts are signed refuses to be archived then.
    private func keySource(_ ofEnvironment: KeySource?) -> KeySource? {
      if let source = keys.map({ KeySource.path($0) }) ?? ofEnvironment { return source }
      guard let directory = location.dataDir.map({ "\($0)/keys" }), access(directory, F_OK) == 0 else { return nil }
      return .path(directory)
    }

    private func openStore() throws(Failure) -> any Store {
      var configuration = ProcessConfiguration()
      switch try location.log() {
      case .sqlite(let directory):
        // Which would be made.
        guard SQLiteStore.isThere(in: directory) else {
          throw Failure(status: .noInput, message: "\(directory): there is no database of Touchstone's")
        }
        configuration.dataDirectory = directory
      case .postgresql(let address): configuration.store = .postgresql(address)
      }
      return try configuration.openStore(logger: standardErrorLogger())
    }

    private static func close(_ store: any Store) {
      let _: Void? = try? answer { done in store.close { done(.success(())) } }
    }
  }

  struct Erase: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take a profile's events out of an archive's files.",
      discussion: """
        EraseProfile does so in the log; events that were archived before are out of its reach. Those of the profile lose \
        their content in every file of the directory and keep their places and hashes, so that the archive still \
        verifies; a verification counts them apart. Copies of the files elsewhere, and what the disk keeps of deleted \
        files, are yours.
        """)

    @Option(help: ArgumentHelp("Where the files are.", valueName: "directory"))
    var archive: String

    @Option(help: ArgumentHelp("The profile's application.", valueName: "id"))
    var application: String

    @Option(
      help: ArgumentHelp(
        "The profile; - reads it from stdin, a line, so that no list of processes has it.", valueName: "id"))
    var profile: String

    func validate() throws {
      guard !application.isEmpty, !profile.isEmpty else {
        throw ValidationError("--application and --profile must not be empty")
      }
    }

    func run() throws {
      do throws(Failure) {
        let profile = self.profile == Self.standardInput ? try Self.readProfile() : self.profile
        let eraser = try eraser(of: profile)
        printLine("\(eraser.erasedCount) events erased, in \(eraser.changedFileCount) files")
      } catch {
        fail(error)
      }
    }

    private static let standardInput = "-"

    private static func readProfile() throws(Failure) -> String {
      guard let profile = readLine(), !profile.isEmpty else {
        throw Failure(status: .usage, message: "--profile -: stdin must have the profile's id, in one line")
      }
      guard readLine() == nil else {
        throw Failure(status: .usage, message: "--profile -: stdin has more than one line; erase one profile at a time")
      }
      return profile
    }

    private func eraser(of profile: String) throws(Failure) -> ArchiveEraser {
      do throws(ArchiveError) {
        return try ArchiveEraser(directory: archive, applicationID: application, profileID: profile)
      } catch {
        throw Failure(error)
      }
    }
  }
}
