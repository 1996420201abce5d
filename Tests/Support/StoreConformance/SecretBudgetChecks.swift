// R14 over a store: a failure is durable before its secret is verified, and no more are verified than the ladder
// allows.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let secretBudgetChecks: [ParallelCheck] = [
    // R13, R14
    ParallelCheck(
      "of 200 parallel wrong guesses exactly 5 are verified, then 1 with each lock that runs out", participants: 200
    ) { store in
      try await store.commit(.putProfile(.guessed()))
    } participate: { participant in
      let guesser = SecretGuesser(on: participant.store)
      var verified = [try await guesser.guess(isRight: false, at: Sample.now)]
      // A refused guesser met the lock: its later guesses come after that.
      guard participant.number < 50, !verified[0] else { return verified.said }
      for time in lockEnds {
        verified.append(try await guesser.guess(isRight: false, at: time + .microseconds(-1)))
        verified.append(try await guesser.guess(isRight: false, at: time))
      }
      verified.append(try await guesser.guess(isRight: true, at: (lockEnds.last ?? Sample.now) + .seconds(86_400)))
      return verified.said
    } judge: { said, store async throws in
      let verified = said.numbers
      #expect(verified.map { $0[0] }.reduce(0, +) == 5)
      let later = verified.filter { $0.count > 1 }.map { $0.dropFirst() }
      let sums = later.reduce(into: [Int](repeating: 0, count: 11)) { sums, guesses in
        for (index, guess) in guesses.enumerated() { sums[index] += guess }
      }
      #expect(sums == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0])
      let standing = try await SecretGuesser(on: store).standing()
      #expect(standing.failures == 10)
      #expect(standing.lock == .untilSetAnew)
    },

    // R14
    ParallelCheck("50 parallel right ones all pass, and leave no failure", participants: 50) { store in
      try await store.commit(.putProfile(.guessed()))
    } participate: { participant in
      [try await SecretGuesser(on: participant.store).guess(isRight: true)].said
    } judge: { said, store async throws in
      #expect(said.tally == ["1": 50])
      let standing = try await SecretGuesser(on: store).standing()
      #expect(standing.failures == 0 && standing.lock == .none && standing.inFlight == 0)
    },

    // R12, R14
    ParallelCheck("passcode and gesture have a budget each, though they stand in one record", participants: 150) {
      store in
      try await store.commit(.putProfile(.guessed()))
    } participate: { participant in
      let isGesture = participant.number % 3 == 0
      let guesser = SecretGuesser(on: participant.store, guessing: isGesture ? .gesture : .passcode)
      return [try await guesser.guess(isRight: isGesture)].said
    } judge: { said, store async throws in
      let (gestures, passcodes) = (said.enumerated().filter { $0.offset % 3 == 0 }, said)
      #expect(gestures.allSatisfy { $0.element == "1" })
      #expect(passcodes.tally == ["1": 50 + 5, "0": 95])
      let profile = try await store.profile()
      #expect(profile.passcode?.standing.failures == 5)
      #expect(profile.gesture?.standing.failures == 0)
    },

    // R14
    ParallelCheck(
      "between two successes no more than the budget is verified, however right and wrong mix", participants: 104
    ) { store in
      try await store.commit(.putProfile(.guessed()))
    } participate: { participant in
      [try await SecretGuesser(on: participant.store).guess(isRight: participant.number % 26 == 0)].said
    } judge: { said, _ async throws in
      let guesses = said.numbers.joined().enumerated()
      let rights = guesses.filter { $0.offset % 26 == 0 }.map(\.element).reduce(0, +)
      let wrongs = guesses.filter { $0.offset % 26 != 0 }.map(\.element).reduce(0, +)
      #expect(wrongs >= 5 && wrongs <= 5 * (rights + 1))
    },

    // R14: its process died after the admission was durable.
    ParallelCheck("attempts whose verdict never comes stay counted", participants: 20) { store in
      try await store.commit(.putProfile(.guessed()))
      let guesser = SecretGuesser(on: store)
      for failures in 1...5 as ClosedRange<UInt32> {
        #expect(try await guesser.admit(at: Sample.now) != nil)
        #expect(try await guesser.standing().failures == failures)
      }
    } participate: { participant in
      let guesser = SecretGuesser(on: participant.store)
      let late = Sample.now + SecretRules.verificationTimeLimit
      let refused = try await guesser.guess(isRight: true, at: late)
      return [refused, try await guesser.guess(isRight: false, at: late + .seconds(60))].said
    } judge: { said, store async throws in
      #expect(said.tally == ["0 0": 19, "0 1": 1])
      #expect(try await store.profile().passcode?.standing.failures == 6)
    },
  ]

  /// The end of the lock of each rung above the fifth failure, where each guess comes as soon as it may.
  private static let lockEnds = [60, 300, 900, 900, 3_600].reduce(into: [UnixTime]()) { ends, seconds in
    ends.append((ends.last ?? Sample.now) + .seconds(seconds))
  }
}

/// A guesser that treats a passcode or a gesture as a service does.
private struct SecretGuesser: Sendable {
  private let store: any Store
  private let factor: Factor
  private let rules = SecretRules(ladder: .standard)

  init(on store: any Store, guessing factor: Factor = .passcode) {
    self.store = store
    self.factor = factor
  }

  func standing() async throws -> SecretStanding {
    try #require(try await store.profile()[factor]).standing
  }

  /// False where it was not verified.
  func guess(isRight: Bool, at now: UnixTime = Sample.now) async throws -> Bool {
    guard let reservation = try await admit(at: now) else { return false }
    _ = try await update { SecretRules.settle($0, reservation, isRight: isRight) }
    return true
  }

  /// Phase one. `nil`: refused.
  func admit(at now: UnixTime) async throws -> SecretAdmission.Reservation? {
    while true {
      try Task.checkCancellation()
      var admission = SecretRules.Admission.wait
      let isWritten = try await update { standing in
        admission = rules.admit(factor, standing, at: now)
        guard case .verify(_, let counted) = admission else { return nil }
        return counted
      }
      switch admission {
      case .verify(let reservation, _) where isWritten: return reservation
      case .refuse: return nil
      // For the verdict of another, which may be in another process.
      case .wait, .verify: try await Task.sleep(for: .milliseconds(1))
      }
    }
  }

  /// Reads, changes and commits until nothing came in between. False where there was nothing to write.
  private func update(_ change: (SecretStanding) -> SecretStanding?) async throws -> Bool {
    while true {
      try Task.checkCancellation()
      var profile = try await store.profile()
      let standing = try #require(profile[factor]).standing
      guard let changed = change(standing) else { return false }
      profile[factor]?.standing = changed
      do throws(StoreError) {
        try await store.commit(.putProfile(profile))
        return true
      } catch {
        guard error.code == .conflict else { throw error }
        await Task.yield()
      }
    }
  }
}

extension [Bool] {
  fileprivate var said: String { map { $0 ? "1" : "0" }.joined(separator: " ") }
}

extension ProfileRecord {
  /// With both secrets, never tried.
  fileprivate static func guessed() -> ProfileRecord {
    let secret = SecretRecord(verifier: [1], standing: SecretStanding(isSet: true), setAt: Sample.now)
    return sample(passcode: secret, gesture: secret)
  }

  fileprivate subscript(factor: Factor) -> SecretRecord? {
    get { factor == .gesture ? gesture : passcode }
    set { if factor == .gesture { gesture = newValue } else { passcode = newValue } }
  }
}
