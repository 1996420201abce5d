import Testing
import TouchstonePolicy
import TouchstoneStore

struct SeenPostureTests {
  private let start = UnixTime(seconds: 1_700_000_000)

  private func seen(
    platform: Platform = .iOS, osVersion: OSVersion = OSVersion(17, 2, 1), seenAt: UnixTime? = nil,
    isProven: Bool = false
  ) -> SeenPosture {
    SeenPosture(
      DevicePosture(
        platform: platform, osVersion: osVersion, biometryType: .faceID, isBiometryAvailable: true,
        isBiometryEnrolled: false, isBiometryLockedOut: true, isPasscodeSet: true, domainState: [1, 2, 3]),
      deviceModel: "iPhone “15”", seenAt: seenAt ?? start, isProven: isProven)
  }

  @Test func itIsKeptWithoutItsDomainState() {
    #expect(seen().posture.domainState.isEmpty)
  }

  @Test(arguments: Platform.allCases)
  func itsBytesAreReadBack(_ platform: Platform) throws {
    for bits in 0..<64 {
      let seen = SeenPosture(
        DevicePosture(
          platform: platform, osVersion: bits & 1 == 0 ? OSVersion(0) : OSVersion(.max, 0, 1), biometryType: .opticID,
          isBiometryAvailable: bits & 2 == 0, isBiometryEnrolled: bits & 4 == 0, isBiometryLockedOut: bits & 8 == 0,
          isPasscodeSet: bits & 16 == 0, domainState: []),
        deviceModel: bits & 1 == 0 ? "" : "iPhone “15”", seenAt: UnixTime(microseconds: -7), isProven: bits & 32 == 0)
      #expect(SeenPosture(encoded: seen.encoded) == seen)
    }
    let bytes = seen().encoded
    for count in 0..<24 { #expect(SeenPosture(encoded: Array(bytes.prefix(count))) == nil) }
    for index in [0, 2, 3] {
      var other = bytes
      other[index] = 0xFF
      #expect(SeenPosture(encoded: other) == nil)
    }
  }

  /// Most logins write nothing of it.
  @Test func itIsNewsWhereItSaysSomethingElseOrAnHourLater() {
    func isNews(_ seen: SeenPosture, after known: SeenPosture?) -> Bool { seen.isNews(after: known) }
    let known = seen(isProven: true)
    #expect(isNews(known, after: nil))
    #expect(!isNews(seen(seenAt: start + .seconds(3_599), isProven: true), after: known))
    #expect(isNews(seen(seenAt: start + .seconds(3_600), isProven: true), after: known))
    #expect(isNews(seen(osVersion: OSVersion(17, 2, 2)), after: known))
    // A caller's word takes nothing from what was proven; a proof is more than a word.
    #expect(!isNews(seen(seenAt: start + .seconds(7_200)), after: known))
    #expect(isNews(known, after: seen()))
    #expect(!isNews(seen(platform: .android), after: known))
    #expect(isNews(seen(platform: .iPadOS), after: known))
  }
}
