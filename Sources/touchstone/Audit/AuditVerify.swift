// `touchstone audit verify`: is the audit log whole, and unaltered?

internal import ArgumentParser
internal import TouchstoneArchive
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

    func validate() throws {
      guard archiveFrom > 0 else { throw ValidationError("--archive-from must be a sequence, from 1 on") }
      guard archive != nil || archiveFrom == 1 else { throw ValidationError("--archive-from needs --archive") }
    }

    func run() throws {
      do throws(Failure) {
        let verification = try verify()
        if let fault = verification.fault {
          throw Failure(status: .corruptData, message: "\(fault); \(verification.verifiedCount) before it are whole")
        }
        if let archive { printLine(try verify(archive: archive, before: verification)) }
        printLine(sentence(verification))
      } catch {
        fail(error)
      }
    }

    private func sentence(_ verification: AuditLogVerification) -> String {
      let start = verification.start.sequence
      let beginning =
        start == 0 || archive != nil
        ? "" : "; it begins with event \(start + 1), those before were archived (--archive verifies them, too)"
      return
        "\(verification.verifiedCount) events, each as it was written, \(verification.erasedCount) of them erased; "
        + "the last has hash \(Hexadecimal.text(verification.head.hash))\(beginning)"
    }

    private func verify() throws(Failure) -> AuditLogVerification {
      switch try location.log() {
      case .sqlite(let directory): return try Self.verify(directory)
      case .postgresql(let address):
        return try withDatabase(standardErrorLogger()) { () throws(StoreOpenError) in
          try await PostgresAuditLog.verify(uri: address.uri)
        }
      }
    }

    private func verify(archive: String, before log: AuditLogVerification) throws(Failure) -> String {
      let found: ArchiveVerification
      do throws(ArchiveError) {
        found = try ArchiveVerification(directory: archive, before: log, first: archiveFrom)
      } catch {
        throw Failure(error)
      }
      if let fault = found.fault {
        throw Failure(
          status: .corruptData, message: "\(archive): \(fault); \(found.verifiedCount) archived ones are whole")
      }
      let first = archiveFrom == 1 ? "" : " from event \(archiveFrom) on"
      return
        "\(found.verifiedCount) archived events\(first), each as it was written, \(found.erasedCount) of them erased, "
        + "\(found.erasedHereCount) of these in the archive"
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
