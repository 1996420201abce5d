import DispatchRPC
import Encodings
import StoreConformance
import StoreModel
import Testing
import TouchstoneCodec
import TouchstoneStore

@testable import TouchstoneService

/// FindProfiles: people by what they read out on the phone.
struct ProfileSearchTests {
  private static let application = Sample.application
  private static let path = "/touchstone.v1.AdministrationService/FindProfiles"

  private let bench = InProcessService {
    $0.callers = [CallerDefinition("desk", keys: [TestKey.shop]), CallerDefinition("other", keys: [TestKey.bank])]
  }

  private func find(
    _ text: String, prefix: Bool = false, in application: String = application, by key: String = TestKey.shop
  ) throws -> V1.FindProfilesResponse {
    let request = V1.FindProfilesRequest(applicationID: application, text: text, prefix: prefix)
    let call = try bench.begin(Self.path, request, key: key)
    if let error = call.error { throw error }
    return try #require(try call.messages(V1.FindProfilesResponse.self).first)
  }

  private func found(_ text: String) throws -> [String] {
    try find(text).profiles.map { "\($0.profileID) \($0.foundBy.rawValue) \($0.bindingID)" }
  }

  private func bind(_ binding: BindingRecord) throws {
    try bench.store.change(.putProfile(.sample(binding.profileID, application: binding.applicationID)))
    try bench.store.change(.putBinding(binding))
  }

  // MARK: Ids

  @Test func eachKindOfIdFindsItsProfile() throws {
    try bind(.sample("b-1", profile: "anna", device: "phone-1"))
    var passkey = PasskeyRecord.sample(0xFB)
    passkey.digest = PasskeyRecord.digest(ofCredentialID: passkey.credentialID)
    try bind(.sample("b-2", profile: "bob", device: "passkey-2", credential: .passkey(passkey)))
    try bind(.sample("b-3", profile: "carl", device: "phone-3", isRevoked: true))
    #expect(try found("anna") == ["anna 1 "])
    #expect(try found("b-1") == ["anna 2 b-1"])
    #expect(try found("phone-1") == ["anna 3 b-1"])
    #expect(try found(Base64URL.encode(passkey.credentialID)) == ["bob 4 b-2"])
    #expect(try found(Base64.encode(passkey.credentialID)) == ["bob 4 b-2"])
    // A revoked binding's device may belong to another person by now.
    #expect(try found("b-3") == ["carl 2 b-3"])
    #expect(try found("phone-3") == [])
    #expect(try find("anna", in: "com.example.shop").profiles == [])
    for other in ["ann", "Anna", "anna-1", "phone"] { #expect(try found(other) == [], "\(other)") }
  }

  @Test func aTextThatIsSeveralIdsFindsAllOfTheirProfiles() throws {
    try bind(.sample("x", profile: "anna", device: "phone-1"))
    try bind(.sample("b-2", profile: "x", device: "phone-2"))
    #expect(try found("x") == ["x 1 ", "anna 2 x"])
  }

  @Test(arguments: [
    " anna\n", "\"anna\"", "“anna”", "\u{FEFF}anna\u{200B}", "an\u{AD}na", "\u{2068}anna\u{2069}", "`anna`\t",
  ])
  func whatAPasteBringsIsLeftOut(_ text: String) throws {
    try bind(.sample("b-1", profile: "anna"))
    #expect(try found(text) == ["anna 1 "])
    #expect(try find(text, prefix: true).profiles.map(\.profileID) == ["anna"])
  }

  @Test func anIdMayHaveWhatPastesBring() throws {
    try bind(.sample("b-1", profile: "\"anna\""))
    try bind(.sample("b-2", profile: "anna"))
    #expect(try found("\"anna\"") == ["\"anna\" 1 "])
    #expect(try found("«anna»") == ["anna 1 "])
  }

  // MARK: Beginnings

  @Test func profilesWhoseIdsBeginSoAreListedAndThatThereAreMore() throws {
    for number in 10..<40 { try bench.store.change(.putProfile(.sample("anna-\(number)"))) }
    try bench.store.change(.putProfile(.sample("annb")))
    let page = try find("anna", prefix: true)
    #expect(page.profiles.map(\.profileID) == (10..<30).map { "anna-\($0)" })
    #expect(page.hasMore)
    let few = try find("anna-2", prefix: true)
    #expect(few.profiles.count == 10 && !few.hasMore)
    #expect(few.profiles.allSatisfy { $0.foundBy == .prefix && $0.bindingID.isEmpty })
    #expect(try find("anne", prefix: true).profiles == [])
  }

  @Test(arguments: [("an", true), (" an \u{200B}", true), ("", false), ("\u{2028}\"\"", false), ("a\nb", false)])
  func aTextThatFindsNothingIsRefusedByName(_ text: String, _ prefix: Bool) throws {
    let error = #expect(throws: RPCError.self) { try find(text, prefix: prefix) }
    #expect(error?.code == .invalidArgument && error?.fields == ["text"])
    #expect(bench.events.isEmpty)
  }

  // MARK: Events and limits

  @Test func eachSearchIsAnEventThatNamesNoTextAndOnlyTheOneProfile() throws {
    try bind(.sample("b-1", profile: "anna", device: "phone-1"))
    _ = try find("phone-1")
    _ = try find("ann", prefix: true)
    _ = try find("secret typed here")
    let events = bench.events.suffix(3)
    #expect(events.allSatisfy { $0.kind == "profile.searched" && $0.caller == "desk" })
    #expect(events.map(\.profileID) == ["anna", "", ""])
    #expect(
      events.map { $0.details.map { "\($0.key)=\($0.value)" } } == [
        ["by=id", "found=1"], ["by=prefix", "found=1"], ["by=id", "found=0"],
      ])
  }

  @Test func aProfileThatIsErasedMeanwhileIsNotNamed() throws {
    try bind(.sample("b-1", profile: "alice", device: "phone-1"))
    bench.store.beforeNextCommit { try? $0.apply(ChangeSet(changes: [.eraseProfile(.alice)])) }
    _ = try find("alice")
    #expect(bench.events.last { $0.kind == "profile.searched" }?.profileID == "")
  }

  @Test func aCallerThatSearchesTooMuchIsRefusedAndOthersAreNot() throws {
    for _ in 0..<SearchLimit.burst { _ = try find("nobody") }
    let error = #expect(throws: RPCError.self) { try find("nobody") }
    #expect(error?.code == .resourceExhausted && error?.reason == "TOO_MANY_SEARCHES")
    let event = try #require(bench.events.last)
    #expect(event.kind == "profile.refused")
    #expect(event.details == [EventDetail(key: "reason", value: "TOO_MANY_SEARCHES")])
    #expect(try find("nobody", by: TestKey.bank).profiles == [])
  }

  @Test func roomForSearchesComesBack() {
    for (caller, interval) in [("desk", SearchLimit.interval), ("operator:anna", SearchLimit.operatorInterval)] {
      var limit = SearchLimit()
      let now = MonotonicTime(nanoseconds: 1 << 40)
      let times =
        [Duration](repeating: .zero, count: SearchLimit.burst + 1) + [interval - .milliseconds(1), interval, interval]
      let admitted = times.map { limit.admits(caller, at: now.advanced(by: $0)) }
      #expect(admitted == [Bool](repeating: true, count: SearchLimit.burst) + [false, false, true, false], "\(caller)")
    }
  }

  @Test func callersThatAReloadTookAwayAreForgotten() {
    var limit = SearchLimit()
    let now = MonotonicTime(nanoseconds: 1 << 40)
    let admitted = (0..<SearchLimit.maximumCallers + 1).map { limit.admits("\($0)", at: now) }
    #expect(admitted == [Bool](repeating: true, count: SearchLimit.maximumCallers) + [false])
    let later = limit.admits("one more", at: now.advanced(by: SearchLimit.interval))
    #expect(later)
  }
}
