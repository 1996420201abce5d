// No text that people wrote becomes markup, wherever a page shows it.

import Testing
import TouchstoneCodec
import TouchstonePolicy

@testable import TouchstoneConsole

@Suite("Markup")
struct HTMLTests {
  private static let evil = "\"'><script>alert(1)</script>&amp;"
  private static let harmless = "&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"

  @Test("A text is escaped where it is put in, and markup is not escaped twice")
  func escaping() {
    let text = Self.evil
    let inner: HTML = "<b>\(text)</b>"
    let none: HTML? = nil
    let outer: HTML = "<p title=\"\(text)\">\(inner)\([inner, inner])\(none)\(7)</p>"
    let bold = "<b>\(Self.harmless)</b>"
    #expect(outer.text == "<p title=\"\(Self.harmless)\">\(bold)\(bold)\(bold)7</p>")
  }

  @Test("Text that is not ASCII stays as it is, whole characters and all")
  func unicode() {
    let text = "é 中文 \u{202E}🙂<"
    #expect(HTML.name(text).text == "<bdi>é 中文 \u{202E}🙂&lt;</bdi>")
  }

  @Test("A link's query is encoded, so that no value adds a field")
  func links() {
    #expect(ConsoleLink.path("/console", [("a", "x&b=\"ü\" #")]) == "/console?a=x%26b%3D%22%C3%BC%22%20%23")
  }

  @Test("No page of a profile shows a script, whatever its names are", arguments: Language.allCases)
  func profile(language: Language) {
    let evil = Self.evil
    let binding = V1.Binding(
      bindingID: evil, applicationID: evil, profileID: evil, deviceID: evil, deviceName: evil, state: .active)
    var revoked = binding
    revoked.state = .revoked
    let posture = V1.DevicePosture(platform: evil, osVersion: evil, deviceModel: evil)
    let event = V1.Event(
      sequence: 1, kind: evil, applicationID: evil, profileID: evil, caller: evil,
      details: ["reason": evil, "stated_reason": evil, evil: evil])
    var profile = V1.GetProfileResponse(
      bindings: [binding, revoked], devices: [V1.DeviceStanding(deviceID: evil, biometryLockedOut: true)],
      settings: V1.UnlockSettings(passcodeEnabled: true, preferred: .passcode),
      postures: [V1.SeenPosture(bindingID: evil, posture: posture)], advisories: [evil])
    let diagnosis = V1.LoginDiagnosis(
      bindingID: evil, policy: evil, answer: .no, obstacles: [V1.LoginObstacle(code: evil, remedies: [evil])])
    profile.diagnoses = [diagnosis, V1.LoginDiagnosis(answer: .yes, factors: [.passcode])]
    var denied = V1.ExplainEvaluationResponse(
      answer: V1.BeginEvaluationResponse(denial: V1.Denial(reason: evil, detail: evil)),
      trace: [V1.RuleTrace(rule: evil, passed: false, detail: evil)])
    denied.diagnosis = diagnosis
    let list = EventList(events: [event], searched: 1...1, hasEarlier: true, archivedThrough: 0)
    let reader = Reader(
      language: language, path: "/console?\(evil)",
      signedIn: Reader.SignedIn(name: evil, role: .admin, formToken: evil, applications: [evil]), application: evil)
    let view = ProfileView(
      applicationID: evil, profileID: evil, profile: profile, policy: evil, policies: [evil], events: list,
      actions: Set(ConsoleAction.allCases), done: .unlockDevice, maySearch: true)
    let names = ["application", "profile", "kind", "device", "binding", "caller", "reason", "since", "until"]
    let search = EventSearch(names.map { ($0, evil) })
    let found = V1.FoundProfile(profileID: evil, foundBy: .deviceID, bindingID: evil)
    let finding = FindView(
      known: [evil], maySearch: true, text: evil, found: V1.FindProfilesResponse(profiles: [found]), error: evil)
    var account = AccountView(notice: nil, isError: false, isFresh: true, hasPassword: true, passkeys: [binding])
    account.newPasskey = PasskeyForm(options: evil, context: evil)
    let pages: [Page] =
      [
        .profile(reader, view),
        .events(
          reader,
          EventsView(
            search: search, list: list, isFollowing: true, known: [evil], seesAllApplications: true, error: evil)),
        .explain(
          reader,
          ExplainView(
            input: ExplainInput(applicationID: evil, policy: evil, bindingID: evil, osVersion: evil),
            policies: [evil], known: [evil], answer: denied, error: evil)),
        .message(reader, .refused, [evil], back: (.backToSearch, evil)),
        .find(reader, finding), .device(reader, evil, [(evil, found)]),
        .signIn(reader, SignInView(page: evil, notice: evil, isError: true, provider: (evil, evil))),
        .passkeyStep(reader, to: evil, PasskeyForm(options: evil, context: evil, proof: evil)),
        .account(reader, account),
      ]
      + ConsoleAction.allCases.map { action in
        .action(
          reader,
          ActionView(
            action: action, applicationID: evil, profileID: evil, target: evil, targetName: HTML.name(evil),
            reason: evil, error: evil))
      }
    for page in pages {
      let html = page.html(for: reader).text
      // The console's own file, where it is needed.
      #expect(html.ranges(of: "<script").count == (page.hasScript ? 1 : 0))
      #expect(html.contains("<script src=\"/console/passkey.js\"") == page.hasScript)
      #expect(!html.contains(evil))
    }
  }

  @Test("The lines of a name end after its marks")
  func places() {
    #expect(HTML.name("anna.li@example.org").text == "<bdi>anna.<wbr>li@<wbr>example.<wbr>org</bdi>")
    #expect(HTML.code("a_<b>").text == "<code><bdi>a_<wbr>&lt;b&gt;</bdi></code>")
    #expect(HTML.name("e\u{301}\r\n").text == "<bdi>e\u{301}\r\n</bdi>")
  }

  @Test(
    "A time is shown by the reader's offset, with its age",
    arguments: [
      (0, 119, "1970-01-01 00:00:00", "119 s ago"),
      (120, 120, "1970-01-01 02:00:00", "2 min ago"),
      (-210, 7_200, "1969-12-31 20:30:00", "2 h ago"),
      (345, 172_800, "1970-01-01 05:45:00", "2 days ago"),
      (0, -55, "1970-01-01 00:00:00", "in 55 s"),
    ] as [(Int64, Int64, String, String)])
  func times(minutes: Int64, now: Int64, text: String, age: String) throws {
    let offset = try #require(TimeOffset.named("\(minutes)"))
    let reader = Reader(language: .english, path: "", offset: offset, now: now)
    let time = "<time datetime=\"1970-01-01T00:00:00Z\">\(text)</time>"
    #expect(reader.time(0).text == "\(time) <span class=\"age\">(\(age))</span>")
  }

  @Test("Times that no calendar has, and offsets that no clock has, trap nothing")
  func extremes() {
    for (time, now) in [(Int64.max, Int64.min), (.min, .max), (.max, 0)] {
      let reader = Reader(language: .english, path: "", offset: TimeOffset.all.last ?? .utc, now: now)
      #expect(reader.time(time).text.contains("<time"))
    }
    #expect(["1", "", "9999", "+60", "60 "].map { TimeOffset.named($0) == nil } == [true, true, true, false, true])
    #expect(TimeOffset.named("-210")?.name == "UTC−03:30")
  }

  @Test("The calendar has the years 1 to 9999")
  func calendar() {
    #expect(CivilTime.texts(1_764_000_307).day == "2025-11-24")
    #expect(CivilTime.texts(.max).day == "9999-12-31")
    #expect(CivilTime.texts(.min) == ("0001-01-01", "00:00:00"))
  }
}
