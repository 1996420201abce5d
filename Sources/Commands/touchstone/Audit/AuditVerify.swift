// `touchstone audit verify`: verifies that the audit log is complete and unaltered.

internal import ArgumentParser
internal import Encodings
internal import TouchstoneArchive
internal import TouchstoneCrypto
internal import TouchstoneServer
internal import TouchstoneStore

extension Audit {
  struct Verify: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Verify the hash chain of the audit log, beside a running service or after it.",
      discussion: """
        Exits with 0 if every event follows from the previous one, and every missing content was erased. It prints the last \
        event's number and hash: note them elsewhere, because an attacker who can rewrite the whole log cannot rewrite \
        the note. Otherwise it names the first event that was altered, dropped, reordered, added or removed, and exits with 65.

        The events that account for erased or archived content are signed. With --audit-keys every signature must be there \
        and is verified; otherwise it exits with 65. A log that is older than its first audit key also needs --signed-from. \
        Without --audit-keys, a line that begins with NOT CHECKED says what was left out.
        """)

    @OptionGroup var location: Location

    @Option(
      help: ArgumentHelp(
        "The archive's files, too, with the log as one chain from the first event on.", valueName: "directory"),
      completion: .directory)
    var archive: String?

    @Option(
      help: ArgumentHelp(
        "The first event of the archive, if older files were removed on purpose.", valueName: "sequence"))
    var archiveFrom: UInt64 = 1

    @Option(
      help: ArgumentHelp(
        "The public halves of the audit keys, as `touchstone keys public` printed them; all that ever signed.",
        valueName: "file"), completion: .file())
    var auditKeys: String?

    @Option(
      help: ArgumentHelp(
        """
        The event from which on accounts are signed, as it was noted outside when the service first signed this log. Only \
        before it they may be unsigned.
        """, valueName: "sequence"))
    var signedFrom: UInt64?

    func validate() throws {
      guard signedFrom != 0 else { throw ValidationError("--signed-from must be a sequence, from 1 on") }
      guard auditKeys != nil || signedFrom == nil else { throw ValidationError("--signed-from needs --audit-keys") }
      guard archiveFrom > 0 else { throw ValidationError("--archive-from must be a sequence, from 1 on") }
      guard archive != nil || archiveFrom == 1 else { throw ValidationError("--archive-from needs --archive") }
    }

    func perform() throws(Failure) {
      let review = try review()
      let verification = try location.chosen().verifyLog(accounts: review, logger: standardErrorLogger())
      if let fault = verification.fault {
        throw Failure(
          kind: .corruptData,
          message: "\(fault); \(verification.verifiedCount) before it are whole\(advice(on: fault))")
      }
      if let signedFrom, signedFrom > verification.head.sequence {
        throw Failure(
          kind: .corruptData,
          message: "event \(signedFrom), from which on accounts are signed, is missing: the log ends before it")
      }
      let archived = try archive.map { archive throws(Failure) in
        try verify(archive: archive, before: verification, review)
      }
      let accounts = AccountReport([archived?.accounts, verification.accounts].compactMap(\.self))
      try accounts.require()
      if let archived { printLine(sentence(archived)) }
      printLine(sentence(verification))
      for line in accounts.lines { printLine(line) }
      printLine(
        "Only events were read, not the rest of the store. `touchstone backup` checks a whole SQLite database.")
    }

    private func review() throws(Failure) -> AccountReview {
      guard let auditKeys else { return .strict(nil) }
      let first = signedFrom.map { AccountReview.SignedFrom.event($0) } ?? .beginning
      let text: [UInt8]
      do throws(FileError) {
        text = try readFile(auditKeys, maximumBytes: Self.maximumKeysBytes)
      } catch {
        throw Failure(kind: .noInput, message: "\(auditKeys) \(error.message)")
      }
      do throws(CryptoError) {
        return .strict(try AuditVerifier(pem: String(decoding: text, as: UTF8.self)), signedFrom: first)
      } catch {
        throw Failure(kind: .unusableKeys, message: "\(auditKeys): \(error.message)")
      }
    }

    private func advice(on fault: EventChainVerifier.Fault) -> String {
      guard case .unsigned = fault, auditKeys != nil, signedFrom == nil else { return "" }
      return
        "; if it is from before this log was first signed, give --signed-from with the event that was noted then, and do not "
        + "take its number from the log itself"
    }

    /// Enough for hundreds of keys.
    private static let maximumKeysBytes = 64 << 10

    private func sentence(_ verification: AuditLogVerification) -> String {
      let start = verification.start.sequence
      let beginning =
        start == 0 || archive != nil
        ? "" : "; it begins with event \(start + 1), those before were archived (--archive verifies them, too)"
      return
        "\(counted(verification.verifiedCount, "event")), each as it was written, \(verification.erasedCount) of them erased; "
        + "the last has hash \(Hexadecimal.text(verification.head.hash))\(beginning)"
    }

    private func verify(
      archive: String, before log: AuditLogVerification, _ accounts: AccountReview
    ) throws(Failure) -> ArchiveVerification {
      let found = try failing { () throws(ArchiveError) in
        try ArchiveVerification(directory: archive, before: log, first: archiveFrom, accounts: accounts)
      }
      if let fault = found.fault {
        throw Failure(
          kind: .corruptData,
          message: "\(archive): \(fault); \(found.verifiedCount) archived ones are whole\(advice(on: fault))")
      }
      return found
    }

    private func sentence(_ found: ArchiveVerification) -> String {
      let first = archiveFrom == 1 ? "" : " from event \(archiveFrom) on"
      return
        "\(counted(found.verifiedCount, "archived event"))\(first), each as it was written, \(found.erasedCount) of them erased, "
        + "\(found.erasedHereCount) of these in the archive"
    }
  }
}
