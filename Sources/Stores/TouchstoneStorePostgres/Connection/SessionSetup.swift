// The settings that a connection makes before it serves.

enum SessionSetup {
  /// The server stops a statement this much earlier than the connection gives up its answer.
  static let grace: Duration = .milliseconds(500)

  /// By name, in seconds, a count, and milliseconds: the server ends a session about 10 s after its client's machine
  /// vanished, which is four times as long as the client itself waits for an answer. By PostgreSQL's defaults it takes
  /// over two hours.
  private static let keepalive = [
    ("tcp_keepalives_idle", 4), ("tcp_keepalives_interval", 2), ("tcp_keepalives_count", 3),
    ("tcp_user_timeout", 10_000),
  ]

  /// - Parameter idleTimeout: the maximum time between two statements of a transaction.
  static func statements(statementTimeout: Duration, idleTimeout: Duration) -> [String] {
    [
      "SET statement_timeout = \(statementTimeout.milliseconds)",
      // A process that is suspended or unreachable must not keep a lock for long.
      "SET idle_in_transaction_session_timeout = \(idleTimeout.milliseconds)",
      // A transaction of which only a part arrived is not idle to the server: no timeout of its own ends it, and its
      // locks stay until its client is found to be gone. Versions without these settings skip them.
      """
      SELECT set_config(k.name, k.value, false) FROM (VALUES \(keepalive.map { "('\($0)', '\($1)')" }.joined(separator: ", ")))
      AS k (name, value) WHERE k.name IN (SELECT name FROM pg_settings)
      """,
      // Answered commits are durable, whatever the server's or the role's default is. Stronger settings stay.
      """
      SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
        THEN 'on' ELSE current_setting('synchronous_commit') END, false)
      """,
      // Each statement of a transaction sees commits made before it, on which `Statement.finish` depends. A database
      // that is SERIALIZABLE answers 40001 instead.
      """
      SELECT set_config('default_transaction_isolation', CASE current_setting('default_transaction_isolation')
        WHEN 'serializable' THEN 'serializable' ELSE 'read committed' END, false)
      """,
      "SET default_transaction_read_only = off",
      // A commit whose wait for a standby was cancelled differs from a durable one by a warning alone.
      "SET client_min_messages = warning",
    ]
  }
}

extension SessionSetup {
  /// Statements use indexes however few rows the tables have when they are planned. Otherwise a plan that was made for
  /// a small table could read all of it for as long as the server keeps the plan. A version that lacks a setting keeps
  /// its own way.
  static let plansByIndex = """
    SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('enable_seqscan', 'jit')
    """
  /// Which rows other transactions hold is not known before, and all that comes after a commit on its connection waits
  /// with it. One that needs longer waits where it delays no other (`Committer`). A version that lacks the setting
  /// waits. 50 ms are longer than a transaction of this store takes with its fsync on most disks.
  static let shortLockWaits = lockWaits(of: .milliseconds(50))

  static func lockWaits(of time: Duration) -> String {
    "SELECT set_config(name, '\(time.milliseconds)', false) FROM pg_settings WHERE name = 'lock_timeout'"
  }

  /// Each statement finds its rows by their keys, so it is planned once for all values, and each row is looked up.
  static let plansByKey = """
    SELECT set_config(name, CASE name WHEN 'plan_cache_mode' THEN 'force_generic_plan' ELSE 'off' END, false)
    FROM pg_settings WHERE name IN (
      'plan_cache_mode', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_material',
      'enable_memoize')
    """
}

extension Duration {
  var milliseconds: Int64 {
    components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
  }
}
