import Testing
import TouchstonePolicy

@Suite struct PlatformTableTests {
  @Test(
    "R2: what came with which version",
    arguments: [
      (PlatformCapability.touchID, "7.1.2", "8.0"), (.deviceOwnerAuthentication, "8.4.1", "9.0"),
      (.domainState, "8.4.1", "9.0"), (.invalidation, "8.4.1", "9.0"), (.lockoutCode, "8.4.1", "9.0"),
      (.customCancelTitle, "9.3.6", "10.0"), (.faceID, "10.3.4", "11.0"),
    ])
  func capability(_ capability: PlatformCapability, lastWithout: String, firstWith: String) {
    for system in ["iOS", "iPadOS"] {
      #expect(!DevicePosture(words: "\(system)-\(lastWithout)").supports(capability))
      #expect(DevicePosture(words: "\(system)-\(firstWith)").supports(capability))
      #expect(DevicePosture(words: "\(system)-17.5.1").supports(capability))
    }
    for system in ["macOS", "android", "web"] {
      #expect(DevicePosture(words: "\(system)-\(lastWithout)").supports(capability))
      #expect(DevicePosture(words: system).supports(capability))
    }
  }

  @Test("R2: versions compare by number")
  func versionOrder() {
    let ascending = ["0", "7.1.2", "8", "8.4.1", "9.3", "9.9", "9.10", "9.10.1", "10.0", "11", "100.2"].map {
      OSVersion($0)!
    }
    #expect(ascending.sorted() == ascending)
    #expect(Set(ascending).count == ascending.count)
    #expect(OSVersion("9") == OSVersion("9.0.0"))
    #expect(OSVersion("9.3.5") == OSVersion(9, 3, 5))
    #expect(OSVersion("09.3") == OSVersion(9, 3))
  }

  @Test(
    "R2: what is no version is none",
    arguments: [
      "", ".", "9.", ".9", "9..1", "9.3.5.1", "+9", "-9", "9.-1", " 9", "9 ", "9,3", "9.x", "iOS 9", "９", "4294967296",
      "9.3b",
    ])
  func noVersion(text: String) {
    #expect(OSVersion(text) == nil)
  }

  @Test(
    "R2: 10.1 shows its prompt late, which refuses nothing",
    arguments: [
      ("10.1", true), ("10.1.1", true), ("iPadOS-10.1", true), ("10.0", false), ("10.2", false), ("10.10", false),
      ("11.1", false), ("android-10.1", false),
    ])
  func slowPrompt(phone: String, isSlow: Bool) {
    let posture = DevicePosture(words: phone)
    #expect(posture.advisories == (isSlow ? [.slowPrompt] : []))
    #expect(Advisory.slowPrompt.rawValue == "SLOW_PROMPT")
  }
}
