import TestSupport
import Testing

@testable import TouchstoneStorePostgres

struct SessionSetupTests {
  /// Below those that systems give to clients.
  private static let port = Int.random(in: 10_000..<32_000)
  private static let question = Statement(
    nil,
    """
    SELECT setting::BIGINT FROM pg_settings
    WHERE name IN ('tcp_keepalives_count', 'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_user_timeout') ORDER BY name
    """)

  /// Where a machine vanishes in the middle of a commit, the server waits for the rest, and keeps the commit's locks:
  /// by its defaults for more than two hours. A Unix socket has none of these settings.
  @Test func theServerLooksForClientsThatAreGone() async throws {
    let server = try PostgresServer(settings: ["listen_addresses=127.0.0.1"], port: Self.port)
    let targets = try ConnectionTarget.prepared("postgresql://touchstone@127.0.0.1:\(Self.port)/postgres")
    let lane = ConnectionLane.ofOneConnection(targets: targets, options: .small, timeout: .seconds(60))
    let results = try await lane.withSession { session throws(PostgresError) in
      try await session.run([StatementCall(Self.question)])
    }
    #expect(try results.first?.map { row in row.integer() } == [3, 4, 2, 10_000])
    try server.stop(.fast)
  }
}
