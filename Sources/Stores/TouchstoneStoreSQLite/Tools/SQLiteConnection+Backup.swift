// Copies a database page by page while another process writes to it.

internal import CSQLite
internal import Glibc

extension SQLiteConnection {
  /// Pages in one step: a megabyte.
  private static let pagesPerStep: Int32 = 256
  /// The pause after each step, in which a service on the same disk can use it.
  private static let pauseMicroseconds: UInt32 = 1_000

  /// Copies the database as it is at the first step, whatever is committed meanwhile. A snapshot delays no commit, but
  /// keeps the write-ahead log from starting anew until it ends.
  ///
  /// - Parameter stepped: called after each step with the number of copied pages.
  func copy(to destination: SQLiteConnection, stepped: (Int32) -> Void) throws(SQLiteError) {
    // Without a snapshot each commit by another process would begin the copy anew.
    try execute("BEGIN; SELECT 1 FROM sqlite_schema")
    defer { try? execute("ROLLBACK") }
    guard let backup = sqlite3_backup_init(destination.pointer, "main", pointer, "main") else {
      throw destination.error(ResultCode(rawValue: sqlite3_extended_errcode(destination.pointer)))
    }
    defer { sqlite3_backup_finish(backup) }
    while true {
      let code = sqlite3_backup_step(backup, Self.pagesPerStep)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_OK else {
        throw SQLiteError(code: ResultCode(rawValue: code), message: String(cString: sqlite3_errstr(code)))
      }
      stepped(Self.pagesPerStep)
      usleep(Self.pauseMicroseconds)
    }
  }
}
