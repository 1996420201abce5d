import DispatchRPC
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy

/// Names are bytes: no two spellings are one profile, and none is two.
struct IdentifierTests {
  private let service: TestService

  init() async throws {
    service = try await TestService.start()
  }

  /// Pairs that some comparison somewhere takes for the same.
  private static let lookAlikes = [
    ("alice", "Alice"), ("alice", " alice"), ("alice", "alice "), ("alice", "аlice"), ("caf\u{E9}", "cafe\u{301}"),
    ("K", "\u{212A}"), ("ﬁ", "fi"), ("straße", "strasse"), ("İ", "i\u{307}"), ("한", "\u{1112}\u{1161}\u{11AB}"),
    ("a\u{200B}b", "ab"), ("a\u{AD}b", "ab"), ("1", "１"), ("a\u{301}\u{327}", "a\u{327}\u{301}"), ("%61", "a"),
    ("a/b", "a%2Fb"), ("\u{FEFF}a", "a"),
  ]

  @Test(arguments: lookAlikes) func lookAlikesAreTwoProfiles(_ one: String, _ other: String) async throws {
    _ = try await service.set(.passcode("2468"), of: one)
    #expect(try await !service.settings(of: other).passcodeSet)
    #expect(await refusal { try await service.profile(other) }.code == .notFound)
    #expect(try await !service.set(.passcode("1357"), by: .oldSecret(.passcode("2468")), of: other).accepted)
    #expect(service.passcodeStanding(of: one).failures == 0)

    _ = try await service.set(.passcode("1357"), of: other)
    _ = try await service.set(V1.UnlockSettings(), of: other)
    #expect(try await service.attempt(.typed("2468"), profileID: one).outcome == .succeeded)
    #expect(try await service.settings(of: one).passcodeEnabled)
    try await service.erase(other)
    #expect(try await service.profile(one).secrets.count == 1)
    #expect(await refusal { try await service.profile(other) }.code == .notFound)
  }

  @Test(arguments: lookAlikes) func lookAlikesAreTwoApplications(_ one: String, _ other: String) async throws {
    _ = try await service.set(.passcode("2468"), applicationID: one)
    #expect(try await !service.settings(applicationID: other).passcodeSet)
    try await service.erase(applicationID: other)
    #expect(try await service.settings(applicationID: one).passcodeSet)
  }

  /// Every method refuses a name that the rules refuse, and names the field.
  @Test(arguments: [
    "", "\u{0}", "a\nb", "\u{7F}", "\u{85}", String(repeating: "x", count: 129), String(repeating: "é", count: 65),
  ])
  func whatIsNoNameIsRefusedEverywhere(_ name: String) async throws {
    func expectRefused<Value>(_ field: String, _ call: () async throws -> Value) async {
      do {
        _ = try await call()
        Issue.record("\(field) was taken")
      } catch let error as RPCError {
        #expect(error.code == .invalidArgument && error.fields.contains(field))
      } catch {
        // The codec of the caller refuses NUL already.
        #expect(name == "\u{0}" && error is EncodingError)
      }
    }
    await expectRefused("profile_id") { try await service.set(.passcode("2468"), of: name) }
    await expectRefused("profile_id") { try await service.remove(.passcode, of: name) }
    await expectRefused("profile_id") { try await service.settings(of: name) }
    await expectRefused("profile_id") { try await service.set(V1.UnlockSettings(), of: name) }
    await expectRefused("profile_id") { try await service.profile(name) }
    await expectRefused("profile_id") { try await service.unlock(.passcode, of: name) }
    await expectRefused("profile_id") { try await service.erase(name) }
    await expectRefused("application_id") { try await service.set(.passcode("2468"), applicationID: name) }
    await expectRefused("application_id") { try await service.remove(.passcode, applicationID: name) }
    await expectRefused("application_id") { try await service.settings(applicationID: name) }
    await expectRefused("application_id") { try await service.set(V1.UnlockSettings(), applicationID: name) }
    await expectRefused("application_id") { try await service.profile(applicationID: name) }
    await expectRefused("application_id") { try await service.erase(applicationID: name) }
    #expect(service.store.commitCount == 0)
  }

  @Test func theLongestNameIsTaken() async throws {
    for name in [String(repeating: "x", count: 128), String(repeating: "é", count: 64), " ", "\u{A0}"] {
      _ = try await service.set(.passcode("2468"), of: name)
      #expect(try await service.attempt(.typed("2468"), profileID: name).profileID.utf8.elementsEqual(name.utf8))
    }
    #expect(service.store.records.profiles.count == 4)
  }
}
