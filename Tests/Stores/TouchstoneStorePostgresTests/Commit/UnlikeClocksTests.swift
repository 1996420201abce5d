import TestSupport
import StoreConformance
import Testing
import TouchstonePolicy
import TouchstoneStore
import TouchstoneStorePostgres

/// Two processes, of which one's clock is wrong: it spoils nothing of the other's.
struct UnlikeClocksTests {
  private static let right = PostgresStoreOptions.small
  private static let hoursAhead: Duration = .seconds(8 * 3_600)

  private static var wrong: PostgresStoreOptions {
    var options = right
    options.clock = { right.clock() + hoursAhead }
    // As one that was set while it ran.
    options.maximumClockDifference = hoursAhead * 2
    return options
  }

  /// Whose key lives, and whose row is there.
  @Test func sweepingByAClockThatIsHoursAheadVoidsNothingThatLives() async throws {
    try await withTwoClocks { right, wrong, _ in
      let key = ExpiringKey.sample(expiresAt: Self.right.clock() + .seconds(60))
      let token = TokenRecord(key: key, state: .issued, transaction: [1], version: 0)
      try await right.commit(.putToken(token))
      #expect(try await wrong.sweep(before: Self.wrong.clock()).removedRows == 0)
      #expect(try await right.token(key)?.state == .issued)
      // A ticket that is issued afterwards works, too.
      try await right.commit(.useTicket(.sample(expiresAt: Self.right.clock())))
    }
  }

  /// Processes' clocks may be half a minute apart: one that is behind still counts on it.
  @Test func whatExpiredAMomentAgoStaysUntilItHasByEveryClock() async throws {
    try await withTwoClocks { right, _, _ in
      let now = Self.right.clock()
      try await right.commit(.useTicket(.sample(expiresAt: now + .seconds(-5))))
      try await right.commit(.useTicket(.sample(expiresAt: now + .seconds(-60))))
      #expect(try await right.sweep(before: now).removedRows == 1)
    }
  }

  /// The store finds out by a commit's mark whether the commit whose answer was lost is done.
  @Test func sweepingByAClockThatIsHoursAheadLeavesTheMarksOfCommits() async throws {
    try await withTwoClocks { right, wrong, uri in
      try await right.commit(.putDevice(.sample("phone-1", failures: 1)))
      _ = try await wrong.sweep(before: Self.wrong.clock())
      let marks = try PostgresServer.shared.get().execute("SELECT count(*) FROM commit_marks", at: uri)
      #expect(marks == ["1"])
    }
  }

  @Test(arguments: [(180, "ahead of"), (-180, "behind")])
  func whoseClockIsMinutesOffIsRefusedAtItsStart(_ seconds: Int, _ direction: String) async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: Self.right)
      var options = Self.right
      options.clock = { Self.right.clock() + .seconds(seconds) }
      let refused = await #expect(throws: StoreOpenError.self) {
        try await withStores(1, at: uri, options: options) { _ in }
      }
      #expect(refused?.code == .unwritable)
      #expect(refused?.message.contains("s \(direction) the server's") == true)
    }
  }

  @Test(arguments: [-100, 0, 100])
  func aStoreSaysHowFarAheadItsClockIs(_ seconds: Int) async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: Self.right)
      var options = Self.right
      options.clock = { Self.right.clock() + .seconds(seconds) }
      try await withStores(1, at: uri, options: options) { stores in
        let difference = await withCheckedContinuation { continuation in
          stores[0].clockDifference { continuation.resume(returning: $0) }
        }
        // Less by what the answer took.
        let measured = try difference.get().components.seconds
        #expect(abs(measured) <= abs(Int64(seconds)) && abs(measured) >= abs(Int64(seconds)) - 60)
        #expect(measured.signum() == Int64(seconds.signum()))
      }
    }
  }

  private func withTwoClocks(_ body: (PostgresStore, PostgresStore, String) async throws -> Void) async throws {
    try await withDatabase { uri in
      _ = try await PostgresMigration.run(uri: uri, options: Self.right)
      try await withStores(1, at: uri, options: Self.right) { rights in
        try await withStores(1, at: uri, options: Self.wrong) { wrongs in
          try await body(rights[0], wrongs[0], uri)
        }
      }
    }
  }
}
