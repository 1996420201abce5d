import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Device ids that are probably on many phones (R30).
struct SharedDeviceTests {
  private static let start = UnixTime(seconds: 1_800_000_000)
  private static let day = Duration.seconds(86_400)

  private var devices = SharedDevices()

  /// Binds it, and checks that the question before has the same answer.
  private mutating func bind(
    _ deviceID: String = "phone", to profile: Int, of applicationID: String = "shop", at time: UnixTime = start
  ) -> Bool {
    let isNews = devices.isNews(deviceID: deviceID, profileID: "\(profile)", of: applicationID, at: time)
    #expect(devices.note(deviceID: deviceID, profileID: "\(profile)", of: applicationID, at: time) == isNews)
    return isNews
  }

  @Test mutating func theNinthProfileIsNewsOnce() {
    let news = (1...12).filter { bind(to: $0) }
    #expect(news == [9])
  }

  @Test mutating func theSameProfileCountsOnceAndApplicationsByThemselves() {
    for _ in 0..<20 { #expect(!bind(to: 1)) }
    for profile in 2...8 { #expect(!bind(to: profile)) }
    for profile in 1...8 { #expect(!bind(to: profile, of: "bank")) }
    #expect(!bind("tablet", to: 9))
    #expect(bind(to: 9))
  }

  @Test mutating func profilesOfAnEarlierMonthDoNotCount() {
    for profile in 1...8 { #expect(!bind(to: profile)) }
    let end = Self.start + SharedDevices.window
    #expect(!bind(to: 9, at: end))
    for profile in 10...16 { #expect(!bind(to: profile, at: end)) }
    #expect(bind(to: 17, at: end))
    // It goes on, and is told of once a month.
    #expect(!bind(to: 18, at: end + Self.day))
    for profile in 19...27 { #expect(bind(to: profile, at: end + SharedDevices.window) == (profile == 26)) }
  }

  @Test mutating func memoryIsBoundedAndAnIdThatComesAgainIsKept() {
    for round in 1...9 {
      #expect(bind(to: round) == (round == 9))
      for other in 0..<SharedDevices.generationSize { _ = bind("other \(round) \(other)", to: 1) }
      #expect(devices.count <= 2 * SharedDevices.generationSize)
    }
  }

  @Test func aBindingThatIsOneTooManyIsAnEventAndCounts() async throws {
    let service = try await TestService.start()
    for profile in 1...10 {
      _ = try await service.bind(TestPhone(profileID: "person-\(profile)"), replacing: true)
    }
    let news = service.events.filter { $0.kind == "device.shared" }
    #expect(news.map(\.profileID) == ["person-9"])
    #expect(news.map(\.deviceID) == [TestPhone().deviceID])
    #expect(news[0].details.map(\.value) == ["MANY_PROFILES"])
  }
}
