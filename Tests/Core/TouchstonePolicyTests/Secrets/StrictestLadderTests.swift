import Testing

@testable import TouchstonePolicy

@Suite struct StrictestLadderTests {
  private func ladder(_ rungs: (UInt32, Ladder.Effect)...) -> Ladder {
    Ladder(rungs: rungs.map { Ladder.Rung(failures: $0, effect: $1) })
  }

  // R13
  @Test func nothingIsAllowedThatOneOfThemForbids() {
    let short = ladder((3, .lock(.seconds(10))), (4, .lock(.seconds(600))))
    #expect(
      Ladder.strictest(of: [.standard, short])
        == ladder(
          (3, .lock(.seconds(10))), (4, .lock(.seconds(600))), (5, .lock(.seconds(600))), (6, .lock(.seconds(600))),
          (7, .lock(.seconds(900))), (8, .lock(.seconds(900))), (9, .lock(.seconds(3_600))), (10, .disable)))
    #expect(Ladder.strictest(of: [.standard, ladder((2, .disable))]) == ladder((2, .disable)))
  }

  // R13
  @Test func ofOneItIsThatOneAndOfNoneTheStandard() {
    #expect(Ladder.strictest(of: [.standard]) == .standard)
    #expect(Ladder.strictest(of: [.standard, .standard]) == .standard)
    #expect(Ladder.strictest(of: []) == .standard)
  }

  // R13: whatever they are, at every count.
  @Test func atEveryCountItIsAsStrictAsTheStrictest() {
    let ladders = [
      Ladder.standard, ladder((1, .lock(.seconds(5)))), ladder((4, .lock(.seconds(7_200))), (20, .disable)),
    ]
    let strictest = Ladder.strictest(of: ladders)
    for failures in 1...UInt32(30) {
      for ladder in ladders {
        switch (ladder.effect(ofFailure: failures), strictest.effect(ofFailure: failures)) {
        case (nil, _), (_, .disable): break
        case (.lock(let one)?, .lock(let all)?): #expect(all >= one)
        default: Issue.record("more is allowed at \(failures)")
        }
      }
    }
  }
}
