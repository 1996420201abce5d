import Testing

@testable import TouchstoneStorePostgres

/// What a URI becomes before libpq sees it.
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

  @Test func eachHostIsJudgedByItself() throws {
    let targets = try ConnectionTarget.prepared("postgresql://localhost,db.example.com,/x", isSet: { _ in false })
    #expect(targets.map { $0.value(of: "sslmode") } == [nil, "verify-full", "verify-full"])
  }
}
