// The demo app's server: it checks passwords itself, and leaves the rest to Touchstone, which runs in this process
// behind real RPC.

import DispatchRPC
import LocalAuthentication
import Logging
import SimulatedPhone
import Synchronization
import TouchstoneClient
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneService
import TouchstoneStoreSQLite

/// One app, one account, and the phone that calls.
final class DemoServer: LoginServer, Sendable {
  static let user = "ada"
  static let password = "correct horse"
  private static let application = "com.example.app"

  private let client: TouchstoneClient
  private let phone: SimulatedPhone
  private let isLoggedIn = Mutex(false)

  struct WrongPassword: Error {}
  struct NotLoggedIn: Error {}
  /// Touchstone will not bind this phone, or not evaluate on it.
  struct Denied: Error {
    let laError: Int32
  }

  fileprivate init(client: TouchstoneClient, phone: SimulatedPhone) {
    self.client = client
    self.phone = phone
  }

  /// The rest of Touchstone's answers, for tests that look behind the app.
  func events() async throws -> [String] {
    let request = V1.ListEventsRequest(filter: V1.EventFilter(applicationID: Self.application), pageSize: 1000)
    return try await client.listEvents(request).events.map(\.kind)
  }

  // MARK: The app's requests

  func logIn(user: String, password: String) async throws {
    guard user == Self.user, password == Self.password else { throw WrongPassword() }
    isLoggedIn.withLock { $0 = true }
  }

  func setGesture(_ dots: [Int]) async throws {
    let gesture = V1.Secret(kind: .gesture(V1.GestureProof(points: dots.map(UInt32.init))))
    let answer = try await client.setSecret(
      V1.SetSecretRequest(
        applicationID: Self.application, profileID: Self.user, secret: gesture, confirmation: gesture,
        authority: .primary(try primary())))
    if let denial = answer.denial { throw Denied(laError: denial.laError.rawValue) }
    let settings = V1.UnlockSettings(
      biometryEnabled: true, gestureEnabled: true, passcodeEnabled: false, preferred: .biometry)
    _ = try await client.setUnlockSettings(
      V1.SetUnlockSettingsRequest(applicationID: Self.application, profileID: Self.user, settings: settings))
  }

  func beginEnabling(_ state: PhoneState) async throws -> Challenge {
    let begun = try await client.beginBinding(
      V1.BeginBindingRequest(
        applicationID: Self.application, profileID: Self.user, deviceID: "0a6f6a5e-7c1d-4a52-9f0b-2f4d8f1c3b77",
        primary: try primary(),
        posture: posture(state)))
    if let denial = begun.denial { throw Denied(laError: denial.laError.rawValue) }
    return Challenge(id: Data(begun.ticket), bytesToSign: Data(begun.signingInput))
  }

  func finishEnabling(_ challenge: Challenge, keys: [SignedKey], _ state: PhoneState) async throws -> String {
    let keys = keys.map { key in
      V1.HardwareKey(
        publicKey: [UInt8](key.publicKey),
        protection: key.factor == .finger ? .biometryCurrentSet : .devicePasscode, signature: [UInt8](key.signature))
    }
    let completed = try await client.completeBinding(
      V1.CompleteBindingRequest(
        applicationID: Self.application, ticket: [UInt8](challenge.id), deviceName: "Ada's iPhone", keys: keys,
        posture: posture(state)))
    return completed.binding?.bindingID ?? ""
  }

  func beginLogin(phoneID: String, reason: String, _ state: PhoneState) async throws -> Challenge {
    let begun = try await client.beginEvaluation(
      V1.BeginEvaluationRequest(
        applicationID: Self.application, policy: "login", bindingID: phoneID, localizedReason: reason,
        posture: posture(state)))
    if let denial = begun.denial { throw Denied(laError: denial.laError.rawValue) }
    return Challenge(
      id: Data(begun.evaluation), bytesToSign: Data(begun.signingInput), factors: begun.factors.compactMap(\.ofApp))
  }

  func answer(_ challenge: Challenge, with attempt: Attempt, _ state: PhoneState) async throws -> Answer {
    let answer = try await client.submitAttempt(
      V1.SubmitAttemptRequest(
        applicationID: Self.application, evaluation: [UInt8](challenge.id), attempt: attempt.ofTouchstone,
        posture: posture(state)))
    let factors = answer.nextFactors.compactMap(\.ofApp)
    switch answer.outcome {
    case .succeeded: return .welcome(answer.profileID)
    case .lockedOut: return .wait(seconds: Int(answer.retryAfter?.seconds ?? 0), factors)
    default: return .again(factors, attemptsLeft: Int(answer.attemptsLeft))
    }
  }

  // MARK: Data that Touchstone requires

  private func primary() throws -> V1.PrimaryAuthentication {
    guard isLoggedIn.withLock({ $0 }) else { throw NotLoggedIn() }
    return V1.PrimaryAuthentication(
      method: "password", authenticatedAt: V1.Timestamp(seconds: now.seconds, nanoseconds: 0))
  }

  /// The app's server receives the phone's model and system in the app's requests; here the phone is at hand.
  private func posture(_ state: PhoneState) -> V1.DevicePosture {
    let report = phone.report(for: Self.application)
    return V1.DevicePosture(
      platform: report.platform, osVersion: report.osVersion, deviceModel: report.deviceModel,
      biometryType: state.biometryType == .faceID ? .faceID : .touchID,
      biometryAvailable: state.biometryError != .biometryNotAvailable,
      biometryEnrolled: state.biometryError != .biometryNotEnrolled,
      biometryLockedOut: state.biometryError == .biometryLockout, passcodeSet: state.isPasscodeSet,
      domainState: [UInt8](state.domainState ?? Data()))
  }
}

extension V1.Factor {
  /// `nil`: this app has no screen for it.
  fileprivate var ofApp: LoginFactor? {
    switch self {
    case .biometry: .finger
    case .deviceOwner: .phonePasscode
    case .gesture: .gesture
    default: nil
    }
  }
}

extension Attempt {
  fileprivate var ofTouchstone: V1.SubmitAttemptRequest.Attempt {
    switch self {
    case .signature(let signature, let factor):
      .key(V1.KeyProof(signature: [UInt8](signature), factor: factor == .finger ? .biometry : .deviceOwner))
    case .gesture(let dots): .gesture(V1.GestureProof(points: dots.map(UInt32.init)))
    case .failure(let code): .report(V1.DeviceReport(laError: V1.LAError(rawValue: Int32(code.rawValue))))
    }
  }
}

// MARK: The process around it

/// The clock stands still.
private let now = UnixTime(seconds: 1_700_000_000)

/// Runs Touchstone, with a store of its own that is gone afterwards, and a server of the app's before it.
func withDemoServer<Value>(
  for phone: SimulatedPhone, isolation: isolated (any Actor)? = #isolation,
  _ body: (DemoServer) async throws -> Value
) async throws -> Value {
  let directory = FileManager.default.temporaryDirectory.appending(path: "touch-id-demo-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: directory) }
  var configuration = ServiceConfiguration()
  // The tests' time goes into the rules, not into hashing.
  configuration.secretHashing = PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1) ?? .standard
  let store = try SQLiteStore.open(directory: directory.path())
  var environment = ServiceEnvironment(cores: 2)
  environment.clock = { now }
  let service = TouchstoneService(
    configuration: configuration, store: store, keys: .ephemeral(), eventLoopCount: 1, logger: Logger(label: "demo"),
    environment: environment)
  let server = RPCServer(configuration: RPCServerConfiguration(eventLoops: 1), router: service.router) {
    service.roundEnded(on: $0)
  }
  let address = try server.listen(host: "127.0.0.1", port: 0)
  let client = TouchstoneClient(configuration: TouchstoneClientConfiguration(target: "\(address)"))
  let result: Result<Value, any Error>
  do {
    result = .success(try await body(DemoServer(client: client, phone: phone)))
  } catch {
    result = .failure(error)
  }
  await client.close()
  await withCheckedContinuation { done in
    server.shutDown(grace: .zero) { store.close { done.resume() } }
  }
  return try result.get()
}
