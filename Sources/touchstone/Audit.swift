// `touchstone audit verify`: is the audit log whole, and unaltered?

internal import ArgumentParser
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

struct Audit: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "The audit log.", subcommands: [Verify.self])

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Verify the hash chain of the audit log, beside a running service or after it.",
      discussion: """
        Exits 0 where every event follows from the one before and each that lost its content did so by an erasure, and \
        prints the last one's number and hash: note them elsewhere, since who can rewrite the whole log cannot rewrite \
        the note. Otherwise names the first event that was altered, dropped, reordered, added or removed, and exits 65.
        """)

    @Option(help: ArgumentHelp("The service's data directory, where the log is in SQLite.", valueName: "directory"))
    var dataDir: String?

    @OptionGroup var location: StoreOption

    func validate() throws {
      guard dataDir == nil || location.store == nil else { throw ValidationError("either --data-dir or --store") }
    }

    func run() throws {
      do throws(Failure) {
        let verification = try verify()
        if let fault = verification.fault {
          throw Failure(status: .corruptData, message: "\(fault); \(verification.verifiedCount) before it are whole")
        }
        let hash = verification.head.hash.map { byte in
          String(byte >> 4, radix: 16) + String(byte & 0xF, radix: 16)
        }
        printLine(
          "\(verification.verifiedCount) events, each as it was written, \(verification.erasedCount) of them erased; "
            + "the last has hash \(hash.joined())")
      } catch {
        fail(error)
      }
    }

    /// What is in SQLite is found by its directory alone.
    private func verify() throws(Failure) -> AuditLogVerification {
      if let dataDir { return try Self.verify(dataDir) }
      guard case .postgresql(let address) = try location.take() else {
        throw Failure(status: .usage, message: "audit verify needs --data-dir, or --store postgresql://HOST/DATABASE")
      }
      return try withDatabase(standardErrorLogger()) { () throws(StoreOpenError) in
        try await PostgresAuditLog.verify(uri: address.uri)
      }
    }

    private static func verify(_ directory: String) throws(Failure) -> AuditLogVerification {
      do throws(StoreOpenError) {
        return try SQLiteAuditLog.verify(directory: directory)
      } catch {
        throw Failure(error)
      }
    }
  }
}
