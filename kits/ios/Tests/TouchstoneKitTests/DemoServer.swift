// The app's own backend, as the kit calls it: it checks passwords itself, and leaves the rest to Touchstone, which runs
// in this process behind real RPC.

import DispatchRPC
import Foundation
import Logging
import SimulatedPhone
import Synchronization
import TouchstoneAttestation
import TouchstoneClient
import TouchstoneCodec
import TouchstoneCrypto
import TouchstoneKit
import TouchstoneKitCore
import TouchstonePolicy
import TouchstoneService
import TouchstoneStoreSQLite

/// One app, one account.
final class DemoServer: TouchIDBackend, Sendable {
  static let user = "ada"
  static let password = "correct horse"
  static let appID = "A1B2C3D4E5.com.example.app"

  let application = "com.example.app"
  private let client: TouchstoneClient
  private let isLoggedIn = Mutex(false)
  /// Changes of the next calls.
  let meddling = Mutex(Meddling())

  /// A backend that lies, or that other things happen beside.
  struct Meddling {
    var beforeEvaluation: (@Sendable () -> Void)?
    var ticket: @Sendable (inout BindingTicket) -> Void = { _ in }
    var evaluation: @Sendable (inout Evaluation) -> Void = { _ in }
    var attempt: @Sendable (inout TouchstoneKit.Attempt) -> Void = { _ in }
    var transaction: Payment?
    var invalidated = 0
  }

  struct WrongPassword: Error {}
  struct NotLoggedIn: Error {}

  fileprivate init(client: TouchstoneClient) {
    self.client = client
  }

  func events() async throws -> [String] {
    let request = V1.ListEventsRequest(filter: V1.EventFilter(applicationID: application), pageSize: 1000)
    return try await client.listEvents(request).events.map(\.kind)
  }

  func attestationLevel(of bindingId: String) async throws -> V1.AttestationLevel? {
    let request = V1.GetBindingRequest(applicationID: application, bindingID: bindingId)
    return try await client.getBinding(request).binding?.attestationLevel
  }

  // MARK: The app's own requests

  func logIn(user: String, password: String) throws {
    guard user == Self.user, password == Self.password else { throw WrongPassword() }
    isLoggedIn.withLock { $0 = true }
  }

  func setGesture(_ dots: [Int]) async throws {
    let gesture = V1.Secret(kind: .gesture(V1.GestureProof(points: dots.map(UInt32.init))))
    let answer = try await client.setSecret(
      V1.SetSecretRequest(
        applicationID: application, profileID: Self.user, secret: gesture, confirmation: gesture,
        authority: .primary(try primary())))
    guard answer.accepted else { throw WrongPassword() }
    let settings = V1.UnlockSettings(
      biometryEnabled: true, gestureEnabled: true, passcodeEnabled: false, preferred: .biometry)
    _ = try await client.setUnlockSettings(
      V1.SetUnlockSettingsRequest(applicationID: application, profileID: Self.user, settings: settings))
  }

  private func primary() throws -> V1.PrimaryAuthentication {
    guard isLoggedIn.withLock({ $0 }) else { throw NotLoggedIn() }
    return V1.PrimaryAuthentication(
      method: "password", authenticatedAt: V1.Timestamp(seconds: now.seconds, nanoseconds: 0))
  }

  // MARK: The kit's requests

  func profile() async -> String? { isLoggedIn.withLock { $0 } ? Self.user : nil }

  func beginBinding(_ request: BindingRequest) async throws -> BindingTicket {
    let primary = try primary()
    let begun = try await relay {
      try await client.beginBinding(
        V1.BeginBindingRequest(
          applicationID: application, profileID: Self.user, deviceID: request.deviceId, primary: primary,
          posture: V1.DevicePosture(request.posture)))
    }
    var ticket = BindingTicket()
    ticket.denial = begun.denial.map { TouchstoneKitCore.Denial($0) }
    (ticket.ticket, ticket.challenge) = (Data(begun.ticket), Data(begun.challenge))
    ticket.signingInput = Data(begun.signingInput)
    meddling.withLock { $0.ticket }(&ticket)
    return ticket
  }

  func completeBinding(_ binding: NewBinding) async throws -> BoundPhone {
    let keys = binding.keys.map { key in
      V1.HardwareKey(
        publicKey: Array(key.publicKey), protection: V1.KeyProtection(rawValue: Int32(key.protection.rawValue)),
        signature: Array(key.signature), mlDsa65PublicKey: Array(key.mlDsa65PublicKey ?? Data()),
        mlDsa65Signature: Array(key.mlDsa65Signature ?? Data()))
    }
    let word = binding.appAttest.map { word in
      V1.AppAttest(
        keyID: Array(word.keyId), attestation: Array(word.attestation ?? Data()),
        assertion: Array(word.assertion ?? Data()))
    }
    let completed = try await relay {
      try await client.completeBinding(
        V1.CompleteBindingRequest(
          applicationID: application, ticket: Array(binding.ticket), deviceName: binding.deviceName, keys: keys,
          posture: V1.DevicePosture(binding.posture), replaceExisting: binding.replaceExisting, appAttest: word))
    }
    return BoundPhone(bindingId: completed.binding?.bindingID, advisories: completed.advisories)
  }

  func beginEvaluation(_ request: EvaluationRequest) async throws -> Evaluation {
    let meddling = meddling.withLock { $0 }
    let transaction = (meddling.transaction ?? request.transaction).map { payment in
      V1.Transaction(
        amount: payment.amount, currency: payment.currency, payee: payment.payee, reference: payment.reference)
    }
    let begun = try await relay {
      try await client.beginEvaluation(
        V1.BeginEvaluationRequest(
          applicationID: application, policy: request.policy, bindingID: request.bindingId,
          localizedReason: request.localizedReason,
          fallbackTitle: request.fallbackTitle.map { V1.Title(text: $0.text) },
          transaction: transaction, posture: V1.DevicePosture(request.posture)))
    }
    var evaluation = Evaluation()
    (evaluation.evaluation, evaluation.signingInput) = (Data(begun.evaluation), Data(begun.signingInput))
    evaluation.factors = begun.factors.map(Word.init)
    evaluation.domainState = Word(begun.domainState)
    evaluation.denial = begun.denial.map { TouchstoneKitCore.Denial($0) }
    evaluation.presentation = Presentation()
    evaluation.presentation?.fallbackTitle = begun.presentation?.fallbackTitle
    evaluation.presentation?.cancelTitle = begun.presentation?.cancelTitle
    evaluation.presentation?.localizedReason = begun.presentation?.localizedReason
    meddling.evaluation(&evaluation)
    meddling.beforeEvaluation?()
    return evaluation
  }

  func submitAttempt(_ attempt: TouchstoneKit.Attempt) async throws -> Answer {
    var attempt = attempt
    meddling.withLock { $0.attempt }(&attempt)
    let request = V1.SubmitAttemptRequest(
      applicationID: application, evaluation: Array(attempt.evaluation), attempt: attempt.ofTouchstone,
      posture: V1.DevicePosture(attempt.posture), appAssertion: Array(attempt.appAssertion ?? Data()))
    let submitted = try await relay { try await client.submitAttempt(request) }
    var answer = Answer()
    (answer.outcome, answer.laError) = (Word(submitted.outcome), Word(submitted.laError))
    answer.domainState = Word(submitted.domainState)
    answer.nextFactors = submitted.nextFactors.map(Word.init)
    answer.attemptsLeft = Int(submitted.attemptsLeft)
    (answer.profileId, answer.token) = (submitted.profileID, submitted.token)
    answer.retryAfter = submitted.retryAfter.map { "\($0.seconds)s" }
    answer.denial = submitted.denial.map { TouchstoneKitCore.Denial($0) }
    return answer
  }

  func revokeBinding(_ bindingId: String) async throws {
    _ = try await relay {
      try await client.revokeBinding(
        V1.RevokeBindingRequest(applicationID: application, bindingID: bindingId, reason: "disabled by its owner"))
    }
  }

  func invalidateEvaluation(_ evaluation: Data) async throws {
    meddling.withLock { $0.invalidated += 1 }
    _ = try await client.invalidateEvaluation(
      V1.InvalidateEvaluationRequest(applicationID: application, evaluation: Array(evaluation)))
  }

  private func relay<Response>(_ call: () async throws -> Response) async throws -> Response {
    do {
      return try await call()
    } catch let error as TouchstoneError {
      throw CallFailure(status: "\(error.code)", reason: error.reason ?? "")
    }
  }
}

// MARK: Between the kit's messages and the client's

extension V1.DevicePosture {
  fileprivate init(_ posture: Posture) {
    self.init(
      platform: posture.platform, osVersion: posture.osVersion, deviceModel: posture.deviceModel,
      biometryType: V1.BiometryType(rawValue: Int32(posture.biometryType)),
      biometryAvailable: posture.biometryAvailable, biometryEnrolled: posture.biometryEnrolled,
      biometryLockedOut: posture.biometryLockedOut, passcodeSet: posture.passcodeSet,
      domainState: Array(posture.domainState))
  }
}

extension TouchstoneKitCore.Denial {
  fileprivate init(_ denial: V1.Denial) {
    self.init(reason: denial.reason)
  }
}

/// The names of JSON, by the numbers of the API.
extension Word {
  fileprivate init(_ factor: V1.Factor) {
    self.init(
      jsonName(
        ["UNSPECIFIED", "BIOMETRY", "DEVICE_OWNER", "PASSCODE", "GESTURE", "PASSKEY", "PRIMARY"], "FACTOR", factor))
  }

  fileprivate init(_ outcome: V1.Outcome) {
    let names = [
      "UNSPECIFIED", "SUCCEEDED", "TRY_AGAIN", "FAILED", "CANCELED", "FALLBACK", "LOCKED_OUT", "FACTOR_REQUIRED",
      "INVALID_CONTEXT",
    ]
    self.init(jsonName(names, "OUTCOME", outcome))
  }

  fileprivate init(_ verdict: V1.DomainStateVerdict) {
    let names = ["UNSPECIFIED", "NEVER_RECORDED", "UNCHANGED", "UNKNOWN_WHILE_LOCKED", "CHANGED", "CHANGED_WITH_OS"]
    self.init(jsonName(names, "DOMAIN_STATE_VERDICT", verdict))
  }

  fileprivate init(_ error: V1.LAError) {
    let names: [V1.LAError: String] = [
      .authenticationFailed: "AUTHENTICATION_FAILED", .passcodeNotSet: "PASSCODE_NOT_SET",
      .biometryNotAvailable: "BIOMETRY_NOT_AVAILABLE", .biometryNotEnrolled: "BIOMETRY_NOT_ENROLLED",
      .biometryLockout: "BIOMETRY_LOCKOUT",
    ]
    self.init(names[error].map { "LA_ERROR_\($0)" } ?? "\(error.rawValue)")
  }
}

private func jsonName(_ names: [String], _ prefix: String, _ value: some RawRepresentable<Int32>) -> String {
  "\(prefix)_\(names[Int(value.rawValue)])"
}

extension TouchstoneKit.Attempt {
  fileprivate var ofTouchstone: V1.SubmitAttemptRequest.Attempt? {
    if let key {
      return .key(
        V1.KeyProof(
          signature: Array(key.signature), factor: key.factor == .biometry ? .biometry : .deviceOwner,
          mlDsa65Signature: Array(key.mlDsa65Signature ?? Data())))
    }
    if let passcode { return .passcode(V1.PasscodeProof(passcode: passcode.passcode)) }
    if let gesture { return .gesture(V1.GestureProof(points: gesture.points.map(UInt32.init))) }
    return report.map { .report(V1.DeviceReport(laError: V1.LAError(rawValue: Int32($0.laError)))) }
  }
}

// MARK: The process around it

/// The clock stands still.
private let now = UnixTime(seconds: 1_700_000_000)

/// Runs Touchstone, with a store of its own that is gone afterwards, and a server of the app's before it.
/// - Parameter authority: vouches for the app in Apple's place.
func withDemoServer<Value>(
  trusting authority: AppAttestAuthority? = nil, isolation: isolated (any Actor)? = #isolation,
  _ body: (DemoServer) async throws -> Value
) async throws -> Value {
  let directory = FileManager.default.temporaryDirectory.appending(path: "touch-id-demo-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: directory) }
  var configuration = ServiceConfiguration()
  // The tests' time goes into the rules, not into hashing.
  configuration.secretHashing = PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1) ?? .standard
  if let authority {
    configuration.attestationTrust.appAttestRoots = [try Certificate(der: authority.root)]
    configuration.applications = [
      "com.example.app": AttestationRequirements(demand: .required, appIDs: [DemoServer.appID])
    ]
  }
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
  var calls = TouchstoneClientConfiguration(target: "\(address)")
  // The calls share a few threads with all other tests, on a machine that may be busy.
  calls.defaultTimeout = .seconds(180)
  let client = TouchstoneClient(configuration: calls)
  let result: Result<Value, any Error>
  do {
    result = .success(try await body(DemoServer(client: client)))
  } catch {
    result = .failure(error)
  }
  await client.close()
  await withCheckedContinuation { done in
    server.shutDown(grace: .zero) { store.close { done.resume() } }
  }
  return try result.get()
}
