// `touchstone audit verify`: is the audit log whole, and unaltered?

internal import ArgumentParser
internal import TouchstoneStore
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

    @Option(help: ArgumentHelp("The service's data directory.", valueName: "directory"))
    var dataDir: String

    func run() throws {
      do throws(Failure) {
        let verification = try Self.verify(dataDir)
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

    private static func verify(_ directory: String) throws(Failure) -> SQLiteAuditLog.Verification {
      do throws(StoreOpenError) {
        return try SQLiteAuditLog.verify(directory: directory)
      } catch {
        throw Failure(error)
      }
    }
  }
}
