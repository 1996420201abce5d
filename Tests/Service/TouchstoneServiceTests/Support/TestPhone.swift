// A phone with software keys, and the calls that an application makes for it.

import SimulatedPhone
import TouchstoneCodec
import TouchstonePolicy

struct TestPhone: Sendable {
  var deviceID = "phone-1-5f9c27e8ab4d6b"
  var profileID = "alice"
  var biometryKey = SoftwareKey()
  /// Offered at binding where there is one.
  var deviceOwnerKey: SoftwareKey?
  var posture = V1.DevicePosture.healthy
  /// Empty before it is bound.
  var bindingID = ""

  /// Right, for this evaluation.
  func proof(for opened: V1.BeginEvaluationResponse, by factor: V1.Factor = .biometry) -> Attempt {
    let key = factor == .deviceOwner ? deviceOwnerKey : biometryKey
    return .key(V1.KeyProof(signature: key?.sign(opened.signingInput) ?? [], factor: factor))
  }

  /// Well formed, and by a key that is not bound.
  func wrongProof(for opened: V1.BeginEvaluationResponse, by factor: V1.Factor = .biometry) -> Attempt {
    .key(V1.KeyProof(signature: SoftwareKey().sign(opened.signingInput), factor: factor))
  }

  func keys(signing input: [UInt8]) -> [V1.HardwareKey] {
    var keys = [
      V1.HardwareKey(
        publicKey: biometryKey.publicKeyX963, protection: .biometryCurrentSet, signature: biometryKey.sign(input))
    ]
    if let key = deviceOwnerKey {
      keys.append(
        V1.HardwareKey(publicKey: key.publicKeyX963, protection: .devicePasscode, signature: key.sign(input)))
    }
    return keys
  }
}

typealias Attempt = V1.SubmitAttemptRequest.Attempt

extension V1.DevicePosture {
  /// Touch ID works, one finger is enrolled.
  static let healthy = V1.DevicePosture(
    platform: "ios", osVersion: "17.2", deviceModel: "iPhone15,2", biometryType: .touchID, biometryAvailable: true,
    biometryEnrolled: true, biometryLockedOut: false, passcodeSet: true,
    domainState: Array("the enrolled fingers".utf8))

  func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }
}

extension V1.Transaction {
  static let dinner = V1.Transaction(amount: "12.50", currency: "CNY", payee: "Noodle House", reference: "order-1")
}

extension TestService {
  // MARK: Binding

  func beginBinding(
    _ phone: TestPhone, authenticated age: Duration = .seconds(1)
  ) async throws -> V1.BeginBindingResponse {
    let time = clock.now + (.zero - age)
    return try await call(
      "BindingService/BeginBinding",
      V1.BeginBindingRequest(
        applicationID: Self.applicationID, profileID: phone.profileID, deviceID: phone.deviceID,
        primary: V1.PrimaryAuthentication(
          method: "password", authenticatedAt: V1.Timestamp(seconds: time.seconds, nanoseconds: 0)),
        posture: phone.posture))
  }

  func completeBinding(
    _ phone: TestPhone, _ begun: V1.BeginBindingResponse, replacing: Bool = false,
    keys: [V1.HardwareKey]? = nil, applicationID: String = applicationID
  ) async throws -> V1.Binding {
    let response: V1.CompleteBindingResponse = try await call(
      "BindingService/CompleteBinding",
      V1.CompleteBindingRequest(
        applicationID: applicationID, ticket: begun.ticket, deviceName: "Alice’s iPhone",
        keys: keys ?? phone.keys(signing: begun.signingInput), posture: phone.posture, replaceExisting: replacing))
    return response.binding ?? V1.Binding()
  }

  /// The phone, bound.
  func bind(_ phone: TestPhone = TestPhone(), replacing: Bool = false) async throws -> TestPhone {
    var phone = phone
    phone.bindingID = try await completeBinding(phone, beginBinding(phone), replacing: replacing).bindingID
    return phone
  }

  /// Binds a phone, and begins a login on it.
  func beginOnNewPhone() async throws -> (phone: TestPhone, opened: V1.BeginEvaluationResponse) {
    let phone = try await bind()
    return (phone, try await begin(phone))
  }

  func revoke(_ phone: TestPhone) async throws {
    let _: V1.RevokeBindingResponse = try await call(
      "BindingService/RevokeBinding",
      V1.RevokeBindingRequest(applicationID: Self.applicationID, bindingID: phone.bindingID, reason: "lost"))
  }

  // MARK: Evaluating

  /// Begins an evaluation for the phone, or for its profile if the phone is not bound.
  func begin(
    _ phone: TestPhone, policy: String = "login", transaction: V1.Transaction? = nil
  ) async throws -> V1.BeginEvaluationResponse {
    try await call(
      "EvaluationService/BeginEvaluation",
      V1.BeginEvaluationRequest(
        applicationID: Self.applicationID, policy: policy, bindingID: phone.bindingID, localizedReason: "Log in",
        transaction: transaction, posture: phone.posture,
        profileID: phone.bindingID.isEmpty ? phone.profileID : ""))
  }

  /// - Parameter attempt: the right proof by biometrics unless given.
  func submit(
    _ phone: TestPhone, _ opened: V1.BeginEvaluationResponse, _ attempt: Attempt? = nil,
    applicationID: String = applicationID
  ) async throws -> V1.SubmitAttemptResponse {
    try await call(
      "EvaluationService/SubmitAttempt",
      V1.SubmitAttemptRequest(
        applicationID: applicationID, evaluation: opened.evaluation, attempt: attempt ?? phone.proof(for: opened),
        posture: phone.posture))
  }

  func report(
    _ error: V1.LAError, _ phone: TestPhone, _ opened: V1.BeginEvaluationResponse
  ) async throws -> V1.SubmitAttemptResponse {
    try await submit(phone, opened, .report(V1.DeviceReport(laError: error)))
  }

  func invalidate(_ opened: V1.BeginEvaluationResponse) async throws {
    let _: V1.InvalidateEvaluationResponse = try await call(
      "EvaluationService/InvalidateEvaluation",
      V1.InvalidateEvaluationRequest(applicationID: Self.applicationID, evaluation: opened.evaluation))
  }

  /// The token of a login.
  func logIn(_ phone: TestPhone) async throws -> String {
    try await submit(phone, begin(phone)).token
  }

  /// The token of a payment.
  func approve(_ transaction: V1.Transaction = .dinner, _ phone: TestPhone) async throws -> String {
    try await submit(phone, begin(phone, policy: "payment", transaction: transaction)).token
  }

  // MARK: Tokens

  func introspect(
    _ token: String, applicationID: String = applicationID
  ) async throws -> V1.IntrospectTokenResponse {
    try await call(
      "TokenService/IntrospectToken", V1.IntrospectTokenRequest(applicationID: applicationID, token: token))
  }

  func consume(
    _ token: String, _ transaction: V1.Transaction? = .dinner, applicationID: String = applicationID
  ) async throws -> V1.ConsumeTokenResponse {
    try await call(
      "TokenService/ConsumeToken",
      V1.ConsumeTokenRequest(applicationID: applicationID, token: token, transaction: transaction))
  }

  func revoke(token: String) async throws {
    let _: V1.RevokeTokenResponse = try await call(
      "TokenService/RevokeToken", V1.RevokeTokenRequest(applicationID: Self.applicationID, token: token))
  }
}
