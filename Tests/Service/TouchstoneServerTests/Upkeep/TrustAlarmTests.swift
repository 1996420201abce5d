import Testing
import TouchstonePolicy
import TouchstoneService

@testable import TouchstoneServer

/// R45: trust data that is too old is noticed, and told neither too seldom nor too often.
struct TrustAlarmTests {
  private static let now = UnixTime(seconds: 1_800_000_000)
  private static let day = Duration.seconds(86_400)

  private func trust(_ ages: (String, Duration)..., refuses: Bool = false) -> AttestationTrust {
    var trust = AttestationTrust()
    trust.refusesWhenTooOld = refuses
    trust.dates = ages.map { setting, age in
      TrustDate(setting: setting, .written(Self.now + (.zero - age)), maximumAge: .seconds(7 * 86_400))
    }
    return trust
  }

  // R45
  @Test func aFileIsTooOldAfterItsTimeAndNotBefore() {
    let date = TrustDate(setting: "list", .written(Self.now), maximumAge: Self.day)
    #expect(!date.isTooOld(at: Self.now))
    #expect(!date.isTooOld(at: Self.now + Self.day))
    #expect(date.isTooOld(at: Self.now + Self.day + .microseconds(1)))
  }

  // R45: its true age is unknown.
  @Test func aFileFromTheFutureIsTooOld() {
    let date = TrustDate(setting: "list", .written(Self.now), maximumAge: Self.day)
    #expect(!date.isTooOld(at: Self.now + (.zero - TrustDate.toleratedLead)))
    #expect(date.isTooOld(at: Self.now + (.zero - TrustDate.toleratedLead) + .microseconds(-1)))
  }

  // R45: by the day that it states itself.
  @Test func metadataIsTooOldIfTheNextOneIsLate() {
    let date = TrustDate(setting: "metadata", .due(Self.now), maximumAge: Self.day)
    #expect(!date.isTooOld(at: Self.now + (.zero - TrustDate.toleratedNotice)))
    #expect(date.isTooOld(at: Self.now + (.zero - TrustDate.toleratedNotice) + .microseconds(-1)))
    #expect(!date.isTooOld(at: Self.now + Self.day))
    #expect(date.isTooOld(at: Self.now + Self.day + .microseconds(1)))
  }

  // R45
  @Test func aFileThatIsTooOldIsToldOnceAndSaidDaily() {
    let trust = trust(("list", .seconds(8 * 86_400)), ("roots", .zero), refuses: true)
    var alarm = TrustAlarm(trust)
    #expect(alarm.checked(at: Self.now) == [.tooOld(trust.dates[0], isRefused: true, isNew: true)])
    #expect(alarm.checked(at: Self.now + .seconds(60)).isEmpty)
    #expect(alarm.checked(at: Self.now + Self.day) == [.tooOld(trust.dates[0], isRefused: true, isNew: false)])
    #expect(alarm.checked(at: Self.now + Self.day + .seconds(1)).isEmpty)
  }

  // R45
  @Test func anEventThatCouldNotBeWrittenIsTriedAgain() {
    var alarm = TrustAlarm(trust(("list", .seconds(8 * 86_400))))
    #expect(alarm.checked(at: Self.now).count == 1)
    alarm.notTold("list")
    guard case .tooOld(_, _, let isNew) = alarm.checked(at: Self.now + .seconds(60)).first else {
      Issue.record("it is said again")
      return
    }
    #expect(isNew)
    #expect(alarm.checked(at: Self.now + .seconds(120)).isEmpty)
  }

  // R45
  @Test func aRenewedFileEndsIt() {
    var alarm = TrustAlarm(trust(("list", .seconds(8 * 86_400))))
    _ = alarm.checked(at: Self.now)
    alarm.replace(trust(("list", .zero)))
    #expect(alarm.checked(at: Self.now) == [.renewed(setting: "list")])
    #expect(alarm.checked(at: Self.now).isEmpty)
    // In its time it is too old again, which is news.
    let later = Self.now + .seconds(8 * 86_400)
    guard case .tooOld(_, _, let isNew) = alarm.checked(at: later).first else {
      Issue.record("it is too old")
      return
    }
    #expect(isNew)
  }

  // R45
  @Test func aClockThatIsSetBackSaysItOnceMore() {
    var alarm = TrustAlarm(trust(("list", .seconds(20 * 86_400))))
    _ = alarm.checked(at: Self.now)
    #expect(alarm.checked(at: Self.now + .seconds(-3_600)).count == 1)
    #expect(alarm.checked(at: Self.now + .seconds(-3_500)).isEmpty)
  }
}
