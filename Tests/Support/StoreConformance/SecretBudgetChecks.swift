// R14 over a store: a failure is durable before its secret is verified, and no more are verified than the ladder allows.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let secretBudgetChecks: [SharedCheck] = [
    // R14
    SharedCheck(name: "of 200 parallel wrong guesses exactly 5 are verified, then 1 with each lock that runs out") {
      stores in
      let guesser = try await SecretGuesser(over: stores)
      #expect(try await guesser.guess(200, isRight: false) == Verdicts(wrong: 5, refused: 195))
      var now = Sample.now
      for (failures, seconds) in [(6, 60), (7, 300), (8, 900), (9, 900), (10, 3_600)] as [(UInt32, Int64)] {
        now = now + .seconds(seconds)
        #expect(try await guesser.guess(50, isRight: false, at: now + .microseconds(-1)) == Verdicts(refused: 50))
        #expect(try await guesser.guess(50, isRight: false, at: now) == Verdicts(wrong: 1, refused: 49))
        #expect(try await guesser.standing().failures == failures)
      }
      #expect(try await guesser.standing().lock == .untilSetAnew)
      #expect(try await guesser.guess(50, isRight: true, at: now + .seconds(86_400)) == Verdicts(refused: 50))
    },

    // R14
    SharedCheck(name: "50 parallel right ones all pass, and leave no failure") { stores in
      let guesser = try await SecretGuesser(over: stores)
      #expect(try await guesser.guess(50, isRight: true) == Verdicts(right: 50))
      let standing = try await guesser.standing()
      #expect(standing.failures == 0 && standing.lock == .none && standing.inFlight == 0)
    },

    // R12, R14
    SharedCheck(name: "passcode and gesture have a budget each, though they stand in one record") { stores in
      let passcode = try await SecretGuesser(over: stores)
      let gesture = try await SecretGuesser(over: stores, guessing: .gesture)
      async let wrong = passcode.guess(100, isRight: false)
      async let right = gesture.guess(50, isRight: true)
      #expect(try await wrong == Verdicts(wrong: 5, refused: 95))
      #expect(try await right == Verdicts(right: 50))
      #expect(try await passcode.standing().failures == 5)
      #expect(try await gesture.standing().failures == 0)
    },

    // R14
    SharedCheck(name: "between two successes no more than the budget is verified, however right and wrong mix") {
      stores in
      let guesser = try await SecretGuesser(over: stores)
      async let wrong = guesser.guess(100, isRight: false)
      async let right = guesser.guess(4, isRight: true)
      let (wrongs, rights) = (try await wrong, try await right)
      #expect(wrongs.wrong >= 5)
      #expect(wrongs.wrong <= 5 * (rights.right + 1))
      #expect(wrongs.wrong + wrongs.refused == 100)
    },

    // R14: its process died after the admission was durable.
    SharedCheck(name: "an attempt whose verdict never comes stays counted") { stores in
      let guesser = try await SecretGuesser(over: stores)
      for failures in 1...5 as ClosedRange<UInt32> {
        try await guesser.admitAndDie()
        #expect(try await guesser.standing().failures == failures)
      }
      let late = Sample.now + SecretRules.verificationTimeLimit
      #expect(try await guesser.guess(10, isRight: true, at: late) == Verdicts(refused: 10))
      #expect(try await guesser.guess(10, isRight: false, at: late + .seconds(60)) == Verdicts(wrong: 1, refused: 9))
    },
  ]
}

/// How attempts went.
private struct Verdicts: Equatable {
  var right = 0
  var wrong = 0
  /// Not verified.
  var refused = 0
}

/// What a service does with a passcode or a gesture, over stores that share their records: as many services.
private struct SecretGuesser: Sendable {
  private let stores: [any Store]
  private let factor: Factor
  private let rules = SecretRules(ladder: .standard)
  private let verdictBoard = VerdictBoard()

  init(over stores: [any Store], guessing factor: Factor = .passcode) async throws {
    self.stores = stores
    self.factor = factor
    var profile = try await stores[0].profile()
    profile[factor] = SecretRecord(verifier: [1], standing: SecretStanding(isSet: true), setAt: Sample.now)
    try await stores[0].commit(.putProfile(profile))
  }

  func standing() async throws -> SecretStanding {
    try #require(try await stores[0].profile()[factor]).standing
  }

  /// So many at a time, dealt to the stores in turn.
  func guess(_ count: Int, isRight: Bool, at now: UnixTime = Sample.now) async throws -> Verdicts {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<count {
        group.addTask { try await attempt(isRight: isRight, by: stores[number % stores.count], at: now) }
      }
      return try await group.reduce(into: Verdicts()) { verdicts, wasVerified in
        switch (wasVerified, isRight) {
        case (true, true): verdicts.right += 1
        case (true, false): verdicts.wrong += 1
        case (false, _): verdicts.refused += 1
        }
      }
    }
  }

  func admitAndDie() async throws {
    _ = try await admit(by: stores[0], at: Sample.now)
  }

  /// False where it was not verified.
  private func attempt(isRight: Bool, by store: any Store, at now: UnixTime) async throws -> Bool {
    guard let reservation = try await admit(by: store, at: now) else { return false }
    _ = try await update(store) { rules.settle($0, reservation, isRight: isRight) }
    await verdictBoard.post()
    return true
  }

  /// Phase one. `nil`: refused.
  private func admit(by store: any Store, at now: UnixTime) async throws -> SecretAdmission.Reservation? {
    while true {
      let seen = await verdictBoard.count
      var admission = SecretRules.Admission.wait
      let isWritten = try await update(store) { standing in
        admission = rules.admit(factor, standing, at: now)
        guard case .verify(_, let counted) = admission else { return nil }
        return counted
      }
      switch admission {
      case .verify(let reservation, _) where isWritten: return reservation
      case .refuse: return nil
      case .wait, .verify: await verdictBoard.waitForMore(than: seen)
      }
    }
  }

  /// Reads, changes and commits until nothing came in between. False where there was nothing to write.
  private func update(
    _ store: any Store, _ change: (SecretStanding) -> SecretStanding?
  ) async throws -> Bool {
    while true {
      var profile = try await store.profile()
      let standing = try #require(profile[factor]).standing
      guard let changed = change(standing) else { return false }
      profile[factor]?.standing = changed
      do throws(StoreError) {
        try await store.commit(.putProfile(profile))
        return true
      } catch {
        guard error.code == .conflict else { throw error }
      }
    }
  }
}

extension ProfileRecord {
  fileprivate subscript(factor: Factor) -> SecretRecord? {
    get { factor == .gesture ? gesture : passcode }
    set { if factor == .gesture { gesture = newValue } else { passcode = newValue } }
  }
}

/// Wakes those who wait for somebody's verdict.
private actor VerdictBoard {
  private(set) var count = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func post() {
    count += 1
    for continuation in waiting { continuation.resume() }
    waiting = []
  }

  func waitForMore(than seen: Int) async {
    guard count == seen else { return }
    await withCheckedContinuation { waiting.append($0) }
  }
}
