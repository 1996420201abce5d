// Ada's day, chapter by chapter. The chapters are in the files beside this one.

internal import SimulatedPhone
internal import TouchstoneClient

struct DemoStory {
  static let cast = "Ada has a phone with one finger enrolled"

  let client: TouchstoneClient
  let narrator: Narrator
  let clock: DemoClock
  /// The service's.
  let dataDirectory: String
  let phone: DemoPhone
  let application = DemoPhone.application
  let profile = "ada"
  /// What the service verifies itself; the phone's own passcode is another one.
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

    try await rulesExplainThemselves(newKeys)
    try await auditTells()
  }

  /// What a binding gave the phone.
  struct Keys {
    var bindingID: String
    var biometry: SimulatedPhone.Key
    var passcode: SimulatedPhone.Key
  }
}
