import DispatchRPC
import Testing

@testable import TouchstoneService

struct EventThrottleTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let cancels = Self.key("bank", "evaluation.canceled")

  private static func key(_ applicationID: String, _ kind: String, named: String = "") -> EventThrottle.Key {
    EventThrottle.Key(applicationID: applicationID, named: named, kind: kind, answer: "")
  }

  private static func isWritten(_ admission: EventThrottle.Admission) -> Bool { admission.suppressed != nil }

  @Test func aFewAtOnceAreEventsAndTheRestIsCounted() {
    var throttle = EventThrottle()
    for _ in 0..<RefusalThrottle.burst { #expect(throttle.admit(cancels, of: "shop", at: start).suppressed == 0) }
    for _ in 0..<1_000 { #expect(throttle.admit(cancels, of: "shop", at: start).suppressed == nil) }
    // Another's, of another application, about another name, and another answer have their own.
    #expect(throttle.admit(cancels, of: "game", at: start).suppressed == 0)
    #expect(throttle.admit(Self.key("shop", "evaluation.canceled"), of: "shop", at: start).suppressed == 0)
    #expect(throttle.admit(Self.key("bank", "evaluation.canceled", named: "b"), of: "shop", at: start).suppressed == 0)
    #expect(throttle.admit(Self.key("bank", "evaluation.refused"), of: "shop", at: start).suppressed == 0)
    let later = start.advanced(by: RefusalThrottle.interval)
    #expect(throttle.admit(cancels, of: "shop", at: later).suppressed == 1_000)
    #expect(throttle.admit(cancels, of: "shop", at: later).suppressed == nil)
  }

  /// Names are bytes, and the place where one ends matters.
  @Test func namesThatDifferAreCountedApart() {
    var throttle = EventThrottle()
    for named in ["\u{E9}", "e\u{301}", "a", "ab"] {
      for _ in 0..<RefusalThrottle.burst {
        #expect(throttle.admit(Self.key("b", "k", named: named), of: "shop", at: start).suppressed == 0)
      }
    }
    #expect(throttle.admit(Self.key("bab", "k"), of: "shop", at: start).suppressed == 0)
  }

  // R41: an operator is a person, so that a flood of made-up names leaves less than another caller's.
  @Test func anOperatorHasTheRoomOfAPerson() {
    var throttle = EventThrottle()
    func written(of caller: String, at now: MonotonicTime, _ kind: String) -> Int {
      (0..<2_000).count { Self.isWritten(throttle.admit(Self.key("a", kind, named: "\($0)"), of: caller, at: now)) }
    }
    let caller = Caller(operator: "anna").identity
    #expect(written(of: caller, at: start, "profile.refused") == EventThrottle.operatorBurst)
    // Another operator, and a caller of the configuration, have their own.
    #expect(written(of: Caller(operator: "ben").identity, at: start, "k") == EventThrottle.operatorBurst)
    #expect(written(of: "operator", at: start, "k") == EventThrottle.callerBurst)
    let later = start.advanced(by: EventThrottle.operatorInterval * 3)
    #expect(written(of: caller, at: later, "device.refused") == 3)
    // One name's refusals are ten at once, and then one a minute, as for all callers.
    let muchLater = start.advanced(by: .seconds(24 * 60 * 60))
    for number in 0..<60 {
      let admission = throttle.admit(Self.key("a", "secret.refused", named: "b"), of: caller, at: muchLater)
      #expect(Self.isWritten(admission) == (number < RefusalThrottle.burst))
    }
  }

  // MARK: Commits that fail

  /// An event that was admitted and not written takes neither the count with it nor any room.
  @Test func aCommitThatFailsTakesNoRoomAndNoCount() {
    var throttle = EventThrottle()
    for _ in 0..<RefusalThrottle.burst + 7 { _ = throttle.admit(cancels, of: "shop", at: start) }
    let later = start.advanced(by: RefusalThrottle.interval)
    for _ in 0..<2 * EventThrottle.callerBurst {
      let admission = throttle.admit(cancels, of: "shop", at: later)
      #expect(admission.suppressed == 7)
      throttle.putBack(admission, cancels, of: "shop", at: later)
    }
    #expect(throttle.admit(cancels, of: "shop", at: later).suppressed == 7)
    // The caller's room for all is there, too: but for the eleven that were written, of which a minute gave back all.
    let rest = (0..<2_000).count {
      Self.isWritten(throttle.admit(Self.key("bank", "k", named: "\($0)"), of: "shop", at: later))
    }
    #expect(rest == EventThrottle.callerBurst - 1)
  }

  @Test func aCallThatIsTriedAgainIsLeftOutOnce() {
    var throttle = EventThrottle()
    for _ in 0..<RefusalThrottle.burst { _ = throttle.admit(cancels, of: "shop", at: start) }
    for _ in 0..<5 {
      let admission = throttle.admit(cancels, showsPosture: true, of: "shop", at: start)
      #expect(admission == EventThrottle.Admission(suppressed: nil, notesPosture: true))
      throttle.putBack(admission, cancels, of: "shop", at: start)
    }
    _ = throttle.admit(cancels, of: "shop", at: start)
    let later = start.advanced(by: RefusalThrottle.interval)
    #expect(throttle.admit(cancels, of: "shop", at: later).suppressed == 1)
  }

  // MARK: Events that are always written

  // R37: what follows is the same, whether it was required or not.
  @Test func whatIsRequiredTakesTheSameRoomAndIsNeverCounted() {
    var (known, unknown) = (EventThrottle(), EventThrottle())
    for number in 0..<40 {
      let now = start.advanced(by: .seconds(3 * number))
      let required = known.admit(cancels, isRequired: true, showsPosture: true, of: "shop", at: now)
      let other = unknown.admit(cancels, showsPosture: true, of: "shop", at: now)
      #expect(Self.isWritten(required) == Self.isWritten(other))
      #expect(required.notesPosture == other.notesPosture)
      #expect(required.suppressed ?? 0 == 0)
    }
    func rest(_ throttle: inout EventThrottle) -> Int {
      (0..<2_000).count {
        Self.isWritten(
          throttle.admit(Self.key("a", "k", named: "\($0)"), of: "shop", at: start.advanced(by: .seconds(120))))
      }
    }
    #expect(rest(&known) == rest(&unknown))
  }

  // R41
  @Test func noFloodLeavesOutWhatBecameOfAToken() {
    var throttle = EventThrottle()
    for number in 0..<(2 * EventThrottle.callerBurst) {
      _ = throttle.admit(
        EventThrottle.Key(applicationID: "a", named: "\(number)", kind: "evaluation.denied", answer: ""), of: "shop",
        at: MonotonicTime(nanoseconds: 1))
    }
    var key = EventThrottle.Key(applicationID: "a", named: "a token", kind: "token.refused", answer: "")
    #expect(throttle.admit(key, of: "shop", at: MonotonicTime(nanoseconds: 1)).suppressed == nil)
    key.isEarned = true
    #expect(throttle.admit(key, of: "shop", at: MonotonicTime(nanoseconds: 1)).suppressed == 0)
  }

  /// As many names as fit are made up, and each token still has its own count.
  @Test func noFloodOfNamesTakesTheTokensPlaces() {
    var throttle = EventThrottle()
    for number in 0...EventThrottle.maximumKeys {
      _ = throttle.admit(Self.key("a", "evaluation.denied", named: "\(number)"), of: "shop", at: start)
    }
    for token in 0..<RefusalThrottle.burst + 10 {
      #expect(throttle.admit(Self.ofToken("token \(token)"), of: "shop", at: start).suppressed == 0)
    }
  }

  /// The caller's room is all that bounds them: there is no telling which of them repeats.
  @Test func furtherTokensShareOneCountAndTheCallersRoom() {
    var throttle = EventThrottle()
    func refuse(_ token: String) -> EventThrottle.Admission {
      throttle.admit(Self.ofToken(token), of: "shop", at: start)
    }
    for number in 0..<2 * EventThrottle.maximumKeys { _ = refuse("token \(number)") }
    let further = (0..<2_000).count { Self.isWritten(refuse("further \($0)")) }
    #expect(further == EventThrottle.callerBurst)
    for _ in 0..<EventThrottle.successesPerEvent { throttle.noteSuccess(of: "shop") }
    for _ in 0..<3 {
      let admission = refuse("one more")
      #expect(admission.suppressed == 2_000 - EventThrottle.callerBurst)
      throttle.putBack(admission, Self.ofToken("one more"), of: "shop", at: start)
    }
    #expect(refuse("token 1").suppressed == 0)
    #expect(throttle.keyCount(of: "shop") == 2 * EventThrottle.maximumKeys + 1)
  }

  private static func ofToken(_ token: String) -> EventThrottle.Key {
    EventThrottle.Key(applicationID: "a", named: token, isEarned: true, kind: "token.refused", answer: "")
  }

  // MARK: Asking before anything is read

  @Test func whetherAnEventIsLeftOutIsAskedWithoutTakingRoom() {
    var throttle = EventThrottle()
    #expect(throttle.leavesOut(cancels, of: "shop", at: start) == false)
    for _ in 0..<RefusalThrottle.burst {
      #expect(throttle.admit(cancels, of: "shop", at: start).suppressed == 0)
      _ = throttle.leavesOut(Self.key("bank", "evaluation.canceled", named: "b"), of: "shop", at: start)
    }
    for _ in 0..<3 { #expect(throttle.leavesOut(cancels, of: "shop", at: start) == true) }
    let later = start.advanced(by: RefusalThrottle.interval)
    #expect(throttle.leavesOut(cancels, of: "shop", at: later) == false)
    #expect(throttle.admit(cancels, of: "shop", at: later).suppressed == 3)
  }

  // MARK: Rates

  /// 1,000 logins a second, of which 1 % are denied and 5 % canceled, each by another person.
  @Test func aBusyCallersOrdinaryRefusalsAreAllEvents() {
    var throttle = EventThrottle()
    var leftOut = 0
    for second in 0..<600 {
      let now = start.advanced(by: .seconds(second))
      for number in 0..<60 {
        let key = Self.key(
          "bank", number < 10 ? "evaluation.denied" : "evaluation.canceled", named: "\(second) \(number)")
        if !Self.isWritten(throttle.admit(key, of: "shop", at: now)) { leftOut += 1 }
      }
      for _ in 0..<940 { throttle.noteSuccess(of: "shop") }
    }
    #expect(leftOut == 0)
    #expect(throttle.keyCount(of: "shop") <= EventThrottle.maximumKeys)
  }

  /// And however many successes there were, a flood begins with no more than the burst.
  @Test func successesMakeRoomUpToTheBurst() {
    var throttle = EventThrottle()
    func flood(_ name: String) -> Int {
      (0..<2_000).count {
        Self.isWritten(throttle.admit(Self.key("bank", name, named: "\($0)"), of: "shop", at: start))
      }
    }
    #expect(flood("first") == EventThrottle.callerBurst)
    for _ in 0..<3 * EventThrottle.successesPerEvent { throttle.noteSuccess(of: "shop") }
    #expect(flood("second") == 3)
    for _ in 0..<100_000 { throttle.noteSuccess(of: "shop") }
    #expect(flood("third") == EventThrottle.callerBurst)
  }

  /// A caller without a configuration may name any application: neither memory nor disk follows.
  @Test func aCallerThatMakesUpApplicationsIsBounded() {
    var throttle = EventThrottle()
    var events = 0
    for number in 0..<40_000 {
      let now = start.advanced(by: .milliseconds(number))
      if Self.isWritten(throttle.admit(Self.key("made up \(number)", "token.refused"), of: "shop", at: now)) {
        events += 1
      }
    }
    #expect(throttle.keyCount(of: "shop") <= EventThrottle.maximumKeys + 1)
    #expect(events <= EventThrottle.callerBurst + 40)
    // And it is no other caller's.
    #expect(throttle.admit(cancels, of: "game", at: start).suppressed == 0)
  }

  @Test func whoWasQuietIsForgottenAndItsCountIsNot() {
    var throttle = EventThrottle()
    for _ in 0..<RefusalThrottle.burst + 5 { _ = throttle.admit(cancels, of: "shop", at: start) }
    for number in 1..<EventThrottle.maximumKeys {
      _ = throttle.admit(Self.key("made up \(number)", "token.refused"), of: "shop", at: start)
    }
    let later = start.advanced(by: .seconds(3_600))
    #expect(throttle.admit(Self.key("another", "token.refused"), of: "shop", at: later).suppressed == 0)
    // The left-out counts of either answer, and the new key.
    #expect(throttle.keyCount(of: "shop") == 3)
    #expect(throttle.admit(cancels.shared, of: "shop", at: later).suppressed == 5)
  }

  @Test func callersAreBoundedToo() {
    var throttle = EventThrottle()
    for number in 0..<EventThrottle.maximumCallers {
      #expect(throttle.admit(cancels, of: "caller\(number)", at: start).suppressed == 0)
    }
    #expect(throttle.admit(cancels, of: "one more", at: start).suppressed == nil)
    #expect(throttle.admit(cancels, of: "one more", at: start.advanced(by: .seconds(60))).suppressed == 0)
    #expect(throttle.callerCount == 1)
  }

  // MARK: Postures

  @Test func aPostureIsKeptOnceAMinuteForEachName() {
    var throttle = PostureThrottle()
    let (one, other) = (NameHash("bank", "b-1"), NameHash("bank", "b-2"))
    #expect(throttle.admit(one, at: start) == true)
    #expect(throttle.admit(one, at: start.advanced(by: .seconds(59))) == false)
    #expect(throttle.admit(one, at: start.advanced(by: .seconds(60))) == true)
    throttle.putBack(one, at: start.advanced(by: .seconds(61)))
    #expect(throttle.admit(one, at: start.advanced(by: .seconds(61))) == true)
    if one.value % UInt(PostureThrottle.slotCount) != other.value % UInt(PostureThrottle.slotCount) {
      #expect(throttle.admit(other, at: start) == true)
    }
  }

  @Test func postureWritesAreBoundedHoweverManyNamesAreMadeUp() {
    var throttle = PostureThrottle()
    let writes = (0..<40_000).count { throttle.admit(NameHash("bank", "\($0)"), at: start) }
    #expect(writes <= PostureThrottle.slotCount)
  }

  /// Whether there is an event or not.
  @Test func onlyWhereThereIsNoEventIsAPostureAskedFor() {
    var throttle = EventThrottle()
    for _ in 0..<RefusalThrottle.burst {
      #expect(throttle.admit(cancels, showsPosture: true, of: "shop", at: start).notesPosture == false)
    }
    #expect(throttle.admit(cancels, showsPosture: false, of: "shop", at: start).notesPosture == false)
    #expect(throttle.admit(cancels, showsPosture: true, of: "shop", at: start).notesPosture == true)
    #expect(throttle.admit(cancels, showsPosture: true, of: "shop", at: start).notesPosture == false)
  }
}
