import Testing
import TouchstoneStore

@testable import TouchstoneStorePostgres

/// The form of a URI when libpq sees it.
struct ConnectionTargetTests {
  @Test(arguments: [
    ("postgresql://u@db.example.com/x", ["PGSSLMODE"]),
    ("postgresql:///x", []), ("postgresql:///x", ["PGHOST"]), ("postgresql:///x", ["PGHOSTADDR"]),
    ("postgresql:///x?host=/run/postgresql", ["PGHOSTADDR"]),
    ("postgresql://localhost/x", ["PGHOSTADDR"]), ("postgresql://localhost/x", ["PGSERVICE"]),
    ("postgresql://localhost/x?service=elsewhere", []), ("postgresql:///?service=elsewhere", []),
    ("postgresql://localhost/x?hostaddr=192.0.2.1", []), ("postgresql://127.example.com/x", []),
    ("postgresql://db.example.com/x?sslmode=", ["PGSSLMODE"]), ("postgresql://localhost/x?host=", ["PGHOST"]),
  ])
  func whatTheURIDoesNotSayNeverSwitchesVerificationOff(_ uri: String, _ environment: [String]) throws {
    for target in try ConnectionTarget.prepared(uri, isSet: { environment.contains($0) }) {
      #expect(target.value(of: "sslmode") == "verify-full")
    }
  }

  @Test(arguments: [
    ("postgresql://localhost/x", nil), ("postgresql://127.0.0.9/x", nil), ("postgresql://[::1]/x", nil),
    ("postgresql://db/x?hostaddr=127.0.0.1", nil), ("postgresql://db/x?sslmode=disable", "disable"),
    ("postgresql://localhost/x?sslmode=require", "require"),
  ])
  func theURIItselfMaySayOtherwise(_ uri: String, _ mode: String?) throws {
    for target in try ConnectionTarget.prepared(uri, isSet: { _ in false }) {
      #expect(target.value(of: "sslmode") == mode)
    }
  }

  /// A standby answers with what was true some time ago.
  @Test(arguments: ["any", "read-only", "standby", "prefer-standby"])
  func noStandbyIsAsked(_ sessions: String) throws {
    let uri = "postgresql://u:secret@a,b/x?target_session_attrs=\(sessions)"
    let error = #expect(throws: StoreOpenError.self) { try PostgresAddress(uri: uri) }
    #expect(error?.code == .unwritable)
    #expect(error?.message.contains("target_session_attrs=\(sessions), which also connects to a standby") == true)
  }

  @Test(arguments: [
    ("", "read-write"), ("?target_session_attrs=read-write", "read-write"),
    ("?target_session_attrs=primary", "primary"),
  ])
  func aPrimaryIsAsked(_ setting: String, _ sessions: String) throws {
    for target in try ConnectionTarget.prepared("postgresql://a,b/x\(setting)", isSet: { _ in true }) {
      #expect(target.value(of: "target_session_attrs") == sessions)
    }
  }

  @Test func eachHostIsJudgedByItself() throws {
    let targets = try ConnectionTarget.prepared("postgresql://localhost,db.example.com,/x", isSet: { _ in false })
    #expect(targets.map { $0.value(of: "sslmode") } == [nil, "verify-full", "verify-full"])
  }
}
