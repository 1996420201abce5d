// The things that people, and attackers who watch them, have seen lately.

import TouchstoneCodec

struct Wallet {
  /// The number remembered of each kind; the newest is last.
  private static let memory = 24

  private(set) var prompts: [Prompt] = []
  private(set) var enrolments: [Enrolment] = []
  private(set) var tokens: [IssuedToken] = []
  private(set) var passkeys: [Credential] = []
  /// Attempts that an app vouched for, and that an attacker on the line kept back.
  private(set) var heldBack: [V1.SubmitAttemptRequest] = []
  /// The word of apps for keys that were to be bound.
  private(set) var vouchings: [V1.AppAttest] = []

  mutating func keep(_ prompt: Prompt) { prompts = (prompts + [prompt]).suffix(Self.memory) }

  mutating func keep(_ enrolment: Enrolment) { enrolments = (enrolments + [enrolment]).suffix(Self.memory) }

  mutating func keep(_ token: IssuedToken) { tokens = (tokens + [token]).suffix(Self.memory) }

  mutating func keep(passkey: Credential) { passkeys = (passkeys + [passkey]).suffix(Self.memory) }

  mutating func keep(_ vouching: V1.AppAttest) { vouchings = (vouchings + [vouching]).suffix(Self.memory) }

  mutating func hold(back attempt: V1.SubmitAttemptRequest) { heldBack = (heldBack + [attempt]).suffix(Self.memory) }
}

/// An evaluation on a phone's screen.
struct Prompt {
  var phone: Phone
  /// The credential whose proof it waits for; without keys and passkey if it waits for a passcode.
  var credential: Credential
  var request: V1.BeginEvaluationRequest
  var response: V1.BeginEvaluationResponse
}

/// A ticket, and the phone that it was issued for, or beside which a passkey is registered.
struct Enrolment {
  var phone: Phone
  var request: V1.BeginBindingRequest
  var response: V1.BeginBindingResponse

  var isForPasskey: Bool { request.passkey != nil }
}

/// A passcode and a gesture, as their person remembers them: what was answered last.
struct Memory {
  var passcode: String?
  var gesture: [UInt32]?
}
