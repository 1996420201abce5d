// `touchstone audit verify`: is the audit log whole, and unaltered?

internal import ArgumentParser
internal import TouchstoneArchive
internal import TouchstoneCrypto
internal import TouchstoneStore
internal import TouchstoneStorePostgres
internal import TouchstoneStoreSQLite

extension Audit {
  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Verify the hash chain of the audit log, beside a running service or after it.",
      discussion: """
        Exits 0 where every event follows from the one before and each that lost its content did so by an erasure, and \
        prints the last one's number and hash: note them elsewhere, since who can rewrite the whole log cannot rewrite \
        the note. Otherwise names the first event that was altered, dropped, reordered, added or removed, and exits 65.

        The events that say what was erased or archived are signed. With --audit-keys each signature is verified, and a log \
        without any exits 65. Without it, a line that begins with NOT CHECKED says what was left out.
        """)

    @OptionGroup var location: Location

    @Option(
      help: ArgumentHelp(
        "The archive's files, too, with the log as one chain from the first event on.", valueName: "directory"))
    var archive: String?

    @Option(
      help: ArgumentHelp(
        "The event that the archive begins with, where older files were removed on purpose.", valueName: "sequence"))
    var archiveFrom: UInt64 = 1

    @Option(
      help: ArgumentHelp(
        "The public halves of the audit keys, as `touchstone keys public` printed them; all that ever signed.",
        valueName: "file"))
    var auditKeys: String?

    func validate() throws {
      guard archiveFrom > 0 else { throw ValidationError("--archive-from must be a sequence, from 1 on") }
      guard archive != nil || archiveFrom == 1 else { throw ValidationError("--archive-from needs --archive") }
    }

    func run() throws {
      do throws(Failure) {
        let review = try review()
        let verification = try verify(review)
        if let fault = verification.fault {
          throw Failure(status: .corruptData, message: "\(fault); \(verification.verifiedCount) before it are whole")
        }
        let archived = try archive.map { archive throws(Failure) in
          try verify(archive: archive, before: verification, review)
        }
        let accounts = AccountReport([archived?.accounts, verification.accounts].compactMap(\.self))
        try accounts.require()
        if let archived { printLine(sentence(archived)) }
        printLine(sentence(verification))
        for line in accounts.lines { printLine(line) }
      } catch {
        fail(error)
      }
    }

    private func review() throws(Failure) -> AccountReview {
      guard let auditKeys else { return .strict(nil) }
      let text: [UInt8]
      do throws(FileError) {
        text = try readFile(auditKeys, maximumBytes: Self.maximumKeysBytes)
      } catch {
        throw Failure(status: .noInput, message: "\(auditKeys) \(error.message)")
      }
      do throws(CryptoError) {
        return .strict(try AuditVerifier(pem: String(decoding: text, as: UTF8.self)))
      } catch {
        throw Failure(status: .unusableKeys, message: "\(auditKeys): \(error.message)")
      }
    }

    /// Hundreds of keys.
    private static let maximumKeysBytes = 64 << 10

    private func sentence(_ verification: AuditLogVerification) -> String {
      let start = verification.start.sequence
      let beginning =
        start == 0 || archive != nil
        ? "" : "; it begins with event \(start + 1), those before were archived (--archive verifies them, too)"
      return
        "\(verification.verifiedCount) events, each as it was written, \(verification.erasedCount) of them erased; "
        + "the last has hash \(Hexadecimal.text(verification.head.hash))\(beginning)"
    }

    private func verify(_ accounts: AccountReview) throws(Failure) -> AuditLogVerification {
      switch try location.log() {
      case .sqlite(let directory): return try Self.verify(directory, accounts)
      case .postgresql(let address):
        return try withDatabase(standardErrorLogger()) { () throws(StoreOpenError) in
          try await PostgresAuditLog.verify(uri: address.uri, accounts: accounts)
        }
      }
    }

    private func verify(
      archive: String, before log: AuditLogVerification, _ accounts: AccountReview
    ) throws(Failure) -> ArchiveVerification {
      let found: ArchiveVerification
      do throws(ArchiveError) {
        found = try ArchiveVerification(directory: archive, before: log, first: archiveFrom, accounts: accounts)
      } catch {
        throw Failure(error)
      }
      if let fault = found.fault {
        throw Failure(
          status: .corruptData, message: "\(archive): \(fault); \(found.verifiedCount) archived ones are whole")
      }
      return found
    }

    private func sentence(_ found: ArchiveVerification) -> String {
      let first = archiveFrom == 1 ? "" : " from event \(archiveFrom) on"
      return
        "\(found.verifiedCount) archived events\(first), each as it was written, \(found.erasedCount) of them erased, "
        + "\(found.erasedHereCount) of these in the archive"
    }

    private static func verify(
      _ directory: String, _ accounts: AccountReview
    ) throws(Failure) -> AuditLogVerification {
      do throws(StoreOpenError) {
        return try SQLiteAuditLog.verify(directory: directory, accounts: accounts)
      } catch {
        throw Failure(error)
      }
    }
  }
}
