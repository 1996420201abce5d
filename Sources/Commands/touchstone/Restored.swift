// `touchstone restored`: for a database that other tools than `touchstone restore` put back to an earlier time.

internal import ArgumentParser
internal import Encodings
internal import TouchstoneServer
internal import TouchstoneStore

struct Restored: FallibleCommand {
  static let configuration = CommandConfiguration(
    abstract: "Void everything issued before, in a database that was put back to an earlier time.",
    discussion: """
      For other restorations than `touchstone restore`: PostgreSQL's own tools (point-in-time recovery, pg_restore), a \
      volume's snapshot, a copied file. Otherwise challenges, tickets and tokens that were used since would serve again. \
      Run it before a service starts on the database. It adds an event to the audit log. Processes that serve from the \
      database meanwhile refuse all calls until they are restarted. A data directory must be free, and hold no \
      write-ahead log (-wal) of another moment than its database.
      """)

  @OptionGroup var location: Audit.Location

  func perform() throws(Failure) {
    let location = try location.chosen()
    let restoration = try location.beginRestoration(at: systemTime(), logger: standardErrorLogger())
    printLine("\(location.place): open evaluations, tickets and tokens from before are void")
    for line in restoration.account { printLine(line) }
  }
}

extension Restoration {
  /// The result in lines for people.
  var account: [String] {
    let last = last.sequence
    return [
      "The restoration is event \(head.sequence), with hash \(Hexadecimal.text(head.hash))",
      "LOST: everything after event \(last). Repeat the revocations, changes, locks and erasures since then. Followers of "
        + "the audit log go on after event \(last). Files of archived events after \(last) are lost with it: move them away.",
    ]
  }
}
