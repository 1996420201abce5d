// Statements that read records.

internal import TouchstoneStore

extension Statement {
  // The records of an attempt are joined one by one, and `OFFSET 0` has each of them found by its key. Otherwise a plan
  // that was made for a small table could read all profiles of an application. A subquery has the columns which are
  // read, and no others: then it is no step of its own to the server.

  /// A statement that joins this reads `sweep_mark`, too: whether the row may have been swept, in the same snapshot.
  private static func evaluation(_ spread: String, _ expiresAt: String, _ id: String) -> String {
    """
    LEFT JOIN LATERAL (
      SELECT \(EvaluationRecord.columns) FROM evaluations
      WHERE spread = \(spread) AND expires_at = \(expiresAt) AND id = \(id) OFFSET 0) e ON TRUE
    """
  }

  private static func subject(binding: String, application: String, _ devices: String) -> String {
    """
    LEFT JOIN LATERAL (SELECT \(BindingRecord.columns) FROM bindings WHERE binding_id = \(binding) OFFSET 0) b
      ON b.application_id = \(application)
    \(devices) \(profile)
    """
  }
  private static let profile = """
    LEFT JOIN LATERAL (
      SELECT \(ProfileRecord.columns) FROM profiles
      WHERE application_id = b.application_id AND profile_id = b.profile_id OFFSET 0) p ON TRUE
    """

  private static func subjectColumns(_ device: String) -> String {
    "\(qualified(BindingRecord.columns, "b")), \(device), \(qualified(ProfileRecord.columns, "p"))"
  }
  private static func attemptColumns(_ device: String) -> String {
    "\(subjectColumns(device)), \(qualified(EvaluationRecord.columns, "e")), swept_before"
  }

  private static func qualified(_ columns: Columns, _ table: String) -> String {
    columns.names.map { "\(table).\($0)" }.joined(separator: ", ")
  }

  /// The vendor's own record of a device or, if it has none, the shared one.
  private static let knownDeviceColumns =
    DeviceRecord.columns.names.map { "coalesce(d.\($0), o.\($0))" }.joined(separator: ", ")

  /// - Parameter prefix: the vendor's prefix of its devices' ids; empty if all applications belong to one vendor.
  private static func devices(_ prefix: String) -> String {
    """
    \(device("d", "\(prefix)::BYTEA || b.device_id"))
    \(device("o", "b.device_id AND d.device_id IS NULL AND \(prefix)::BYTEA <> ''"))
    """
  }
  private static func device(_ name: String, _ id: String) -> String {
    """
    LEFT JOIN LATERAL (SELECT \(DeviceRecord.columns) FROM devices WHERE device_id = \(id) OFFSET 0) \(name) ON TRUE
    """
  }

  /// Applications, bindings, vendors, evaluations: a row for each element, with its number.
  static let attemptsOfBindings = Statement(
    "attempts_of_bindings",
    """
    SELECT a.number, \(attemptColumns(knownDeviceColumns))
    FROM unnest($1::BYTEA[], $2::BYTEA[], $3::BYTEA[], $4::SMALLINT[], $5::BIGINT[], $6::BYTEA[])
      WITH ORDINALITY AS a (application_id, binding_id, prefix, spread, expires_at, id, number)
    \(subjectOfEach) \(evaluation("a.spread", "a.expires_at", "a.id")) CROSS JOIN sweep_mark
    """)
  /// The same without evaluations, which takes the server a quarter less time.
  static let subjectsOfBindings = Statement(
    "subjects_of_bindings",
    """
    SELECT a.number, \(subjectColumns(knownDeviceColumns))
    FROM unnest($1::BYTEA[], $2::BYTEA[], $3::BYTEA[])
      WITH ORDINALITY AS a (application_id, binding_id, prefix, number)
    \(subjectOfEach)
    """)
  private static let subjectOfEach = subject(
    binding: "a.binding_id", application: "a.application_id", devices("a.prefix"))

  // One binding, of an application whose devices are shared with all others (a vendor without a prefix). Without arrays
  // and with fewer joins, the server needs two thirds of the time.

  /// Application, binding, evaluation: a row with the number 1. The records with few columns come first, because each
  /// join copies those before it.
  static let attemptOfBinding = Statement(
    "attempt_of_binding",
    """
    SELECT 1::BIGINT, \(attemptColumns(qualified(DeviceRecord.columns, "d"))) FROM sweep_mark
    \(evaluation("$3", "$4", "$5")) \(subjectOfOne) WHERE only_row = 1
    """)
  /// Application, binding: a row with the number 1.
  static let subjectOfBinding = Statement(
    "subject_of_binding",
    """
    SELECT 1::BIGINT, \(subjectColumns(qualified(DeviceRecord.columns, "d"))) FROM (SELECT 1) AS one \(subjectOfOne)
    """)
  private static let subjectOfOne = subject(binding: "$2", application: "$1", device("d", "b.device_id"))

  /// Application, profile, evaluation.
  static let attemptOfProfile = Statement(
    "attempt_of_profile",
    """
    SELECT \(qualified(ProfileRecord.columns, "p")), \(qualified(EvaluationRecord.columns, "e")), swept_before
    FROM (SELECT 1) AS one
    LEFT JOIN profiles p ON p.application_id = $1 AND p.profile_id = $2
    \(evaluation("$3", "$4", "$5")) CROSS JOIN sweep_mark
    """)

  /// Application, digest, vendor, evaluation.
  static let attemptOfProfileTouchID = Statement(
    "attempt_of_profile_touch_id",
    """
    SELECT \(attemptColumns(knownDeviceColumns)) FROM (SELECT 1) AS one
    LEFT JOIN bindings b ON b.application_id = $1 AND b.profile_touch_id = $2 AND NOT b.is_revoked
    \(devices("$3")) \(profile) \(evaluation("$4", "$5", "$6")) CROSS JOIN sweep_mark
    """)

  /// The vendor's own record and the shared one. The longer id is the vendor's.
  static let selectDevice = Statement(
    "select_device",
    """
    SELECT \(DeviceRecord.columns) FROM devices WHERE device_id IN ($1, $2) ORDER BY length(device_id) DESC LIMIT 1
    """)
  static let selectProfile = Statement(
    "select_profile", "SELECT \(ProfileRecord.columns) FROM profiles WHERE application_id = $1 AND profile_id = $2")
  static let selectActiveBinding = Statement(
    "select_active_binding",
    "SELECT \(BindingRecord.columns) FROM bindings WHERE application_id = $1 AND device_id = $2 AND NOT is_revoked")
  static let selectReceipt = Statement(
    "select_receipt", "SELECT receipt FROM app_attest_receipts WHERE binding_id = $1")
  static let countActiveBindings = Statement(
    "count_active_bindings",
    "SELECT count(*) FROM bindings WHERE application_id = $1 AND profile_id = $2 AND NOT is_revoked")
  /// A key.
  static let selectTicket = Statement(
    "select_ticket",
    """
    SELECT swept_before, EXISTS (SELECT 1 FROM used_tickets WHERE spread = $1 AND expires_at = $2 AND id = $3)
    FROM sweep_mark
    """)
  /// A key.
  static let selectToken = Statement(
    "select_token",
    """
    SELECT swept_before, \(TokenRecord.columns) FROM sweep_mark
    LEFT JOIN tokens ON spread = $1 AND expires_at = $2 AND id = $3
    """)
  static let selectBindings = Statement(
    "select_bindings",
    """
    SELECT \(BindingRecord.columns) FROM bindings
    WHERE application_id = $1 AND profile_id = $2 AND binding_id > $3 ORDER BY binding_id LIMIT $4
    """)
  /// A separate statement, which an index without revoked bindings serves, because revoked bindings are kept for good.
  static let selectActiveBindings = Statement(
    "select_active_bindings",
    """
    SELECT \(BindingRecord.columns) FROM bindings
    WHERE application_id = $1 AND profile_id = $2 AND binding_id > $3 AND NOT is_revoked ORDER BY binding_id LIMIT $4
    """)

  static let selectProfileIDs = Statement(
    "select_profile_ids",
    "SELECT profile_id FROM profiles WHERE application_id = $1 AND profile_id >= $2 ORDER BY profile_id LIMIT $3")

  static let selectLineage = Statement("select_lineage", "SELECT number FROM lineage")

  static let reading = [
    attemptsOfBindings, subjectsOfBindings, attemptOfBinding, subjectOfBinding, attemptOfProfile,
    attemptOfProfileTouchID, selectDevice, selectProfile, selectActiveBinding, selectReceipt, countActiveBindings,
    selectTicket, selectToken, selectBindings, selectActiveBindings, selectProfileIDs, selectLineage,
  ]
}
