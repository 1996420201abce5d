// `touchstone backup` copies a data directory's database to one file; `touchstone restore` makes a data directory of it.

internal import ArgumentParser
internal import Glibc
internal import TouchstonePolicy
internal import TouchstoneServer
internal import TouchstoneStore

struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Back up a data directory's database to one file, beside a running service.",
    discussion: """
      The copy is the database at one moment, with everything that was answered before. It is read again and verified \
      before it gets its name, has mode 0600, and replaces no other file. It holds no keys, because an attacker with both could \
      forge tokens and guess passcodes. Keep a copy of the keys elsewhere.
      """)

  @Option(help: ArgumentHelp("The service's data directory.", valueName: "directory"))
  var dataDir: String

  @Option(
    help: ArgumentHelp(
      "A file that does not exist yet; or a directory, where the file is named by the time.",
      valueName: "file|directory"))
  var to: String

  func run() throws {
    do throws(Failure) {
      let file = isDirectory(to) ? "\(to)/touchstone-\(systemTime().compactText).db" : to
      let summary = try Failure.ofStore { () throws(StoreOpenError) in
        try StoreRegistry.directoryKind.backUp(dataDir, to: file)
      }
      printLine("\(file): \(summary.text)")
      printLine(summary.events.text)
      printLine(
        "NOT in it: the keys (\(dataDir)/keys, unless the configuration says otherwise). Without them no passcode, gesture, "
          + "ProfileTouchID or token of this backup can be verified. Keep a copy of them apart from it.")
    } catch {
      fail(error)
    }
  }
}

struct Restore: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a data directory of a backup.",
    discussion: """
      The backup is verified first; the directory is made, or must be empty except for its keys. All changes after the \
      backup are lost, so everything issued before the restoration is void: open evaluations, tickets, tokens. Bindings \
      that were revoked after the backup are active again, passcodes and counts of failures are the old ones, and erased \
      profiles are back. A copy of the audit log shows what to repeat.
      """)

  @Option(help: ArgumentHelp("A file that `touchstone backup` made.", valueName: "file"))
  var from: String

  @Option(help: ArgumentHelp("The service's data directory.", valueName: "directory"))
  var dataDir: String

  func run() throws {
    do throws(Failure) {
      let (backup, restoration) = try Failure.ofStore { () throws(StoreOpenError) in
        try StoreRegistry.directoryKind.restore(dataDir, from: from, at: systemTime())
      }
      printLine("\(dataDir): \(backup.text)")
      printLine(backup.events.text)
      for line in restoration.account { printLine(line) }
      if access("\(dataDir)/keys", F_OK) != 0 {
        printLine(
          "MISSING: the keys. Put them into \(dataDir)/keys, or where the configuration says, before it is served.")
      }
    } catch {
      fail(error)
    }
  }
}

extension Failure {
  static func ofStore<Value>(_ body: () throws(StoreOpenError) -> Value) throws(Failure) -> Value {
    do throws(StoreOpenError) {
      return try body()
    } catch {
      throw Failure(error)
    }
  }
}

private func isDirectory(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}

extension UnixTime {
  /// "20261121T190332Z", in UTC: sorts by time.
  fileprivate var compactText: String {
    var seconds = time_t(seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func padded(_ number: Int32, _ width: Int) -> String {
      String(repeating: "0", count: max(0, width - "\(number)".count)) + "\(number)"
    }
    let date = padded(parts.tm_year + 1_900, 4) + padded(parts.tm_mon + 1, 2) + padded(parts.tm_mday, 2)
    return date + "T" + padded(parts.tm_hour, 2) + padded(parts.tm_min, 2) + padded(parts.tm_sec, 2) + "Z"
  }
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
