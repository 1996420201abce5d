// Ada's day in chapters, which are in the files beside this one.

internal import SimulatedPhone
internal import TouchstoneClient

struct DemoStory {
  static let cast = "Ada has a phone with one finger enrolled"

  let client: TouchstoneClient
  let narrator: Narrator
  let clock: DemoClock
  /// The service's data directory.
  let dataDirectory: String
  private(set) var phone = DemoPhone(application: Self.shop, deviceID: "0a6f6a5e-7c1d-4a52-9f0b-2f4d8f1c3b77")
  /// The one on the phone, and of all calls.
  var application: String { phone.application }
  let profile = "ada"
  /// The passcode that the service verifies. The phone's own passcode is a different one.
  let passcode = "lovelace"
  /// An L on the 3 × 3 grid.
  let gesture: [UInt32] = [0, 3, 6, 7, 8]

  static let shop = "shop"

  /// The same with another phone, and with the application that is on it.
  func on(_ phone: DemoPhone) -> DemoStory {
    var story = self
    story.phone = phone
    return story
  }

  func tell() async throws(WrongAnswer) {
    let keys = try await bind()
    try await setSecrets()
    try await logIn(keys)
    try await pay(keys)
    try await drawInstead(keys)

    try await strangerLocksIt(keys)
    try await strangerGuessesThePasscode(keys)
    try await adaUnlocksIt(keys)

    try await fingerIsAdded(keys)
    let newKeys = try await bindAnew(keys)
    try await logIn(newKeys)

    try await passkeyLogsInAndPays()
    try await hybridKeyLogsIn()
    try await bankWantsProof()

    try await rulesExplainThemselves(newKeys)
    try await auditTells()
  }

  /// The phone's keys for a binding.
  struct Keys {
    var bindingID: String
    var biometry: SimulatedPhone.Key
    var passcode: SimulatedPhone.Key
  }
}
