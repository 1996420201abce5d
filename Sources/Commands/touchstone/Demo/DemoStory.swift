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
  let phone: DemoPhone
  let application = DemoPhone.application
  let profile = "ada"
  /// The passcode that the service verifies. The phone's own passcode is a different one.
  let passcode = "lovelace"
  /// An L on the 3 × 3 grid.
  let gesture: [UInt32] = [0, 3, 6, 7, 8]

  init(client: TouchstoneClient, narrator: Narrator, clock: DemoClock, dataDirectory: String) {
    self.client = client
    self.narrator = narrator
    self.clock = clock
    self.dataDirectory = dataDirectory
    phone = DemoPhone()
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
