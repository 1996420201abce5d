// A ProfileTouchID: as a proof (R10, R11, R38), where it has to say who it is itself, and what may be one (R30).

import SeededGenerator
import Testing
import TouchstonePolicy

@Suite struct ProfileTouchIDTests {
  @Test(
    "R10, R11, R31: a ProfileTouchID proves biometry, and wrong counts as a biometric failure",
    arguments: cases(
      """
      9.3          | touch-id          | 0  | login   | 0 | touch-id right => succeeded         | -         | 5 | =  | 0.
      9.3          | touch-id          | 3  | login   | 2 | touch-id right => succeeded         | -         | 5 | 0  | 2.
      9.3          | touch-id          | 0  | login   | 0 | touch-id wrong => tryAgain -1       | bio       | 4 | 1  | 1
      9.3          | touch-id          | 2  | login   | 2 | touch-id wrong => failed -1         | -         | 2 | 3  | 3.
      9.3          | touch-id          | 4  | login   | 0 | touch-id wrong => lockedOut -8      | -         | 0 | 5! | 1.
      9.3          | touch-id          | 5! | login   | 0 | touch-id right => lockedOut -8      | -         | 0 | =  | =
      9.3          | touch-id inactive | 0  | login   | 0 | touch-id right => tryAgain -1       | bio       | 4 | 1  | 1
      9.3 state=B  | touch-id          | 0  | login   | 0 | touch-id right => factorRequired -6 | -         | 5 | =  | =
      9.3 state=B  | touch-id          | 0  | login   | 0 | touch-id wrong => tryAgain -1       | -         | 4 | 1  | 1
      # Each credential proves by itself alone.
      9.3          | set               | 0  | login   | 0 | touch-id right => factorRequired -6 | bio       | 5 | =  | =
      9.3          | set               | 0  | login   | 0 | touch-id wrong => tryAgain -1       | bio       | 4 | 1  | 1
      9.3          | touch-id          | 0  | login   | 0 | bio right      => factorRequired -6 | bio       | 5 | =  | =
      # It pays nothing, and meets no demand (R38, R31): not even a wrong one counts.
      9.3          | touch-id          | 0  | payment | 0 | touch-id right => factorRequired -6 | -         | 5 | =  | =
      9.3          | set               | 0  | payment | 0 | touch-id wrong => factorRequired -6 | bio       | 5 | =  | =
      9.3          | touch-id          | 0  | set-only | 0 | touch-id wrong => factorRequired -6 | -        | 5 | =  | =
      9.3          | presence          | 0  | owner   | 0 | touch-id right => factorRequired -6 | owner     | 5 | =  | =
      9.3          | absent            | 0  | login   | 0 | touch-id right => factorRequired -6 | -         | 0 | =  | =
      """))
  func proofs(_ row: Case) { check(row) }

  @Test(
    "R10, R37: where nobody is named, a wrong one counts in the evaluation alone",
    arguments: cases(
      """
      9.3 | bearer | 0 | login | 0 | touch-id wrong => tryAgain -1       | bio | 2 | = | 1
      9.3 | bearer | 0 | login | 1 | touch-id wrong => tryAgain -1       | bio | 1 | = | 2
      9.3 | bearer | 0 | login | 2 | touch-id wrong => failed -1         | -   | 0 | = | 3.
      # Unresolved, right is none.
      9.3 | bearer | 0 | login | 0 | touch-id right => tryAgain -1       | bio | 2 | = | 1
      9.3 | bearer | 0 | apple | 2 | touch-id wrong => failed -1         | -   | 0 | = | 3.
      9.3 | bearer | 0 | login | 0 | report -1      => tryAgain -1       | bio | 2 | = | 1
      # What a device reports cannot lock one that is not known.
      9.3 | bearer | 0 | login | 0 | report -8      => lockedOut -8      | bio | 3 | = | =
      9.3 locked | bearer | 0 | login | 0 | touch-id right => lockedOut -8 | - | 0 | = | =
      9.3 | bearer | 0 | login | 0 | owner right    => factorRequired -6 | bio | 3 | = | =
      9.3 | bearer | 0 | all   | 0 | primary fresh  => factorRequired -6 | bio | 0 | = | =
      9.3 | bearer | 0 | payment | 0 | touch-id right => factorRequired -6 | - | 3 | = | =
      """))
  func bearer(_ row: Case) { check(row) }

  @Test("R34, R38: what may begin where nobody is named: biometry, by a policy that takes a ProfileTouchID")
  func bearerPreflight() {
    func preflight(_ policy: String) -> Preflight {
      EvaluationPolicy(table: policy).preflight(
        posture: DevicePosture(table: "9.3"), binding: .bearer, device: BiometryStanding(), profile: .none, now: .noon)
    }
    for policy in ["login", "bio", "apple", "all"] {
      #expect(preflight(policy).factors == [.biometry] && preflight(policy).denial == nil)
      #expect(preflight(policy).domainState == nil && preflight(policy).biometryAttemptsLeft == 3)
    }
    for policy in ["payment", "set-only", "owner"] {
      #expect(preflight(policy).denial == Denial(code: .biometryNotAvailable, reason: .noUsableFactor))
    }
    #expect(preflight("secrets").denial == Denial(code: .biometryNotAvailable, reason: .factorNotOffered))
  }

  // MARK: R30

  @Test("R30: 16 to 128 bytes", arguments: [(0, false), (15, false), (16, true), (128, true), (129, false)])
  func length(count: Int, isValid: Bool) {
    var random = SeededGenerator(seed: 30)
    let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect((violation(bytes) == nil) == isValid)
    #expect(isValid || violation(bytes) == "does not have 16 to 128 bytes")
  }

  @Test("R30: one byte repeated, or a counter of any step, is guessable", arguments: UInt8.min...UInt8.max)
  func counters(step: UInt8) {
    for start in [0, 1, 97, 255] as [UInt8] {
      var bytes = (0..<24).map { start &+ UInt8($0) &* step }
      #expect(violation(bytes) == "is guessable: one byte repeated, or a counter")
      bytes[23] &+= 1
      let distinct = Set(bytes).count
      #expect(violation(bytes) == (distinct < 8 ? "is guessable: fewer than 8 different bytes" : nil))
    }
  }

  @Test("R30: a counter of digits goes round 10", arguments: 1...9)
  func digitCounters(step: Int) {
    for start in 0...9 {
      let digits = (0..<24).map { UInt8(ascii: "0") + UInt8((start + $0 * step) % 10) }
      #expect(violation(digits) == "is guessable: one byte repeated, or a counter")
    }
    let others = [UInt8]("3141592653589793".utf8)
    #expect(violation(others) == nil)
  }

  @Test(
    "R30: few different bytes are guessable, however many of them there are",
    arguments: [
      ("1111111111111112", "is guessable: fewer than 8 different bytes"),
      ("0000000000000042", "is guessable: fewer than 8 different bytes"),
      ("abcdefgabcdefgabcdefgabcdefgabcdefgabcdefg", "is guessable: fewer than 8 different bytes"),
      ("abcdefghhhhhhhhh", nil),
    ] as [(String, String?)])
  func fewDistinctBytes(text: String, expected: String?) {
    #expect(violation([UInt8](text.utf8)) == expected)
  }

  @Test(
    "R30: a number that zeros make long enough is guessable",
    arguments: [
      // Microseconds since 1970 as a 128-bit integer, from either end.
      ([0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0x43, 0xE1, 0x52, 0x9B, 0x7C, 0x1D], true),
      ([0x1D, 0x7C, 0x9B, 0x52, 0xE1, 0x43, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0], true),
      ([UInt8]("0000001763736298".utf8), true), ([UInt8]("1763736298450000".utf8), false),
      ([UInt8]("2345678900000000".utf8), true), ([UInt8]("0000123456789135".utf8), false),
      ([0, 0, 0, 0, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144], true),
      ([0, 0, 0, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233], false),
    ] as [([UInt8], Bool)])
  func padded(bytes: [UInt8], isGuessable: Bool) {
    #expect(violation(bytes) == (isGuessable ? "is guessable: padded with zeros" : nil))
  }

  @Test(
    "R30: text with the profile or the device in it is guessable",
    arguments: [
      ("alice-touch-id-0001", true), ("my-Alice-touch-id-01", true), ("prefix-pixel 8-end", true),
      ("0123456789-ALICE", true), ("a-l-i-c-e-0123456789", false), ("q8Zr2Lk0vXw1Nn5d", false),
      ("pixel-8-0123456789", false),
    ])
  func telling(text: String, isGuessable: Bool) {
    #expect(
      violation([UInt8](text.utf8)) == (isGuessable ? "is guessable: text with the profile or the device in it" : nil))
  }

  @Test("R30: random bytes that happen to hold a name are no text; a name of one letter stands in any")
  func notTelling() {
    let text = [UInt8]("alice".utf8)
    #expect(violation(text + [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]) == nil)
    #expect(violation(text + [0xFF, 0xFE, 1, 2, 3, 5, 8, 13, 21, 34, 55]) == nil)
    let random = [UInt8]("q8Zr2Lk0vXw1Nn5d".utf8)
    #expect(ProfileTouchID.violation(in: random, profileID: "q", deviceID: "8Z") == nil)
    #expect(ProfileTouchID.violation(in: random, profileID: "q", deviceID: "8zR") != nil)
    #expect(
      ProfileTouchID.violation(in: random, profileID: String(repeating: "p", count: 100), deviceID: "phone") == nil)
  }

  private func violation(_ bytes: [UInt8]) -> String? {
    ProfileTouchID.violation(in: bytes, profileID: "alice", deviceID: "Pixel 8")
  }

  private func check(_ row: Case) {
    let decision = EvaluationPolicy(table: row.given[3]).decide(
      AttemptFacts(
        posture: DevicePosture(table: row.given[0]), binding: BindingStanding(table: row.given[1])!,
        device: BiometryStanding(table: row.given[2]), profile: .none,
        evaluation: EvaluationStanding(table: row.given[4]),
        now: .noon, attempt: Attempt(table: row.given[5])))
    let outcome = row.expected[0].words
    #expect(decision.outcome == Outcome(table: outcome[0]))
    #expect(decision.laError == (outcome.count > 1 ? LAErrorCode(table: outcome[1]) : nil))
    #expect(decision.nextFactors == Factor.list(table: row.expected[1]))
    #expect(decision.attemptsLeft == UInt32(row.expected[2]))
    #expect(decision.device == (row.expected[3] == "=" ? nil : BiometryStanding(table: row.expected[3])))
    #expect(decision.evaluation == (row.expected[4] == "=" ? nil : EvaluationStanding(table: row.expected[4])))
  }
}
