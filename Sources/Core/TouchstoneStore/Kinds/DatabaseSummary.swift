/// The contents of a backup, or of a database that was restored from one, after all of it was read and found whole.
public struct DatabaseSummary: Sendable, Hashable {
  public struct TableCount: Sendable, Hashable {
    public var table: String
    public var rows: Int64

    package init(table: String, rows: Int64) {
      self.table = table
      self.rows = rows
    }
  }

  /// By name.
  public var tables: [TableCount]
  public var byteCount: Int64
  /// The audit log, which has no fault.
  public var events: AuditLogVerification

  package init(tables: [TableCount], byteCount: Int64, events: AuditLogVerification) {
    self.tables = tables
    self.byteCount = byteCount
    self.events = events
  }
}
