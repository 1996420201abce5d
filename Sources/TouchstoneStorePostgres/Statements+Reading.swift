// Questions about records.

internal import TouchstoneStore

extension Statement {
  /// Also where a row may have been swept: from one snapshot.
  private static func evaluationOf(_ first: Int) -> String {
    """
    LEFT JOIN evaluations e ON e.spread = $\(first) AND e.expires_at = $\(first + 1) AND e.id = $\(first + 2)
    CROSS JOIN sweep_mark
    """
  }

  private static let attemptColumns = """
    \(qualified(BindingRecord.columns, "b")), \(knownDeviceColumns),
    \(qualified(ProfileRecord.columns, "p")), \(qualified(EvaluationRecord.columns, "e")), swept_before
    """

  private static func qualified(_ columns: String, _ table: String) -> String {
    columns.split(separator: ",").map { "\(table).\($0.trimmed)" }.joined(separator: ", ")
  }

  /// The vendor's own record of a device or, where it has none, everybody's.
  private static let knownDeviceColumns: String = {
    let columns = DeviceRecord.columns.split(separator: ",").map(\.trimmed)
    return columns.map { "coalesce(d.\($0), o.\($0))" }.joined(separator: ", ")
  }()

  /// - Parameter prefix: the vendor's, which stands in front of its devices' ids; empty where all are one vendor's.
  private static func device(_ prefix: String, orStandIn standIn: String = "NULL") -> String {
    """
    LEFT JOIN devices d ON d.device_id = CASE WHEN b.is_revoked THEN \(Schema.standInOfRevoked("b"))
      ELSE coalesce(\(prefix)::BYTEA || b.device_id, \(standIn)) END
    LEFT JOIN devices o ON o.device_id = b.device_id AND d.device_id IS NULL AND NOT b.is_revoked
      AND \(prefix)::BYTEA <> ''
    """
  }

  /// Application, binding, vendor, the stand-ins of its device and its profile, evaluation. One row: known or not, the same is read.
  static let attemptOfBinding = Statement(
    "attempt_of_binding",
    """
    SELECT \(attemptColumns) FROM (SELECT 1) AS one
    LEFT JOIN bindings b ON b.binding_id = $2 AND b.application_id = $1
    \(device("$3", orStandIn: "$4"))
    LEFT JOIN profiles p ON p.application_id = $1 AND p.profile_id = coalesce(b.profile_id, $5)
    \(evaluationOf(6))
    """)

  /// Application, profile, evaluation.
  static let attemptOfProfile = Statement(
    "attempt_of_profile",
    """
    SELECT \(qualified(ProfileRecord.columns, "p")), \(qualified(EvaluationRecord.columns, "e")), swept_before
    FROM (SELECT 1) AS one
    LEFT JOIN profiles p ON p.application_id = $1 AND p.profile_id = $2
    \(evaluationOf(3))
    """)

  /// Application, digest, vendor, evaluation.
  static let attemptOfProfileTouchID = Statement(
    "attempt_of_profile_touch_id",
    """
    SELECT \(attemptColumns) FROM (SELECT 1) AS one
    LEFT JOIN bindings b ON b.application_id = $1 AND b.profile_touch_id = $2 AND NOT b.is_revoked
    \(device("$3"))
    LEFT JOIN profiles p ON p.application_id = b.application_id AND p.profile_id = b.profile_id
    \(evaluationOf(4))
    """)

  /// The vendor's own, and everybody's: the longer id is the vendor's.
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
    WHERE application_id = $1 AND profile_id = $2 AND binding_id > $3 AND (NOT is_revoked OR $4)
    ORDER BY binding_id LIMIT $5
    """)

  static let selectLineage = Statement("select_lineage", "SELECT number FROM lineage")

  static let reading = [
    attemptOfBinding, attemptOfProfile, attemptOfProfileTouchID, selectDevice, selectProfile, selectActiveBinding,
    countActiveBindings, selectTicket, selectToken, selectBindings, selectLineage,
  ]
}

extension Substring {
  /// Without the blanks and line ends around it.
  var trimmed: String { split { $0 == " " || $0 == "\n" }.joined() }
}
