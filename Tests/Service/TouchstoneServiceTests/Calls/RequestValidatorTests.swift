import DispatchRPC
import Testing
import TouchstoneCodec
import TouchstonePolicy

@testable import TouchstoneService

/// Everything wrong with a request is named at once, by its field's path.
struct RequestValidatorTests {
  // MARK: Identifiers

  @Test(arguments: [
    ("a", nil), ("com.example.bank", nil), (" ", nil), ("É", nil), ("e\u{301}", nil), ("🔒", nil),
    (String(repeating: "x", count: 128), nil), (String(repeating: "指", count: 42), nil), ("", "is empty"),
    (String(repeating: "x", count: 129), "is longer than 128 bytes"),
    (String(repeating: "指", count: 43), "is longer than 128 bytes"), ("a\0b", "contains a control character"),
    ("a\n", "contains a control character"), ("\u{7F}", "contains a control character"),
    ("\u{85}", "contains a control character"),
  ])
  func identifiers(_ text: String, _ reason: String?) {
    var validator = RequestValidator()
    validator.identifier(text, "profile_id")
    #expect(validator.violations == (reason.map { [FieldViolation(field: "profile_id", reason: $0)] } ?? []))
    var optional = RequestValidator()
    optional.optionalIdentifier(text, "binding_id")
    #expect(optional.violations.isEmpty == (reason == nil || text.isEmpty))
  }

  // MARK: Lengths

  @Test(arguments: [(0, false), (1, true), (4, true), (5, false)])
  func lengthsAreOfBytes(_ count: Int, _ isGood: Bool) {
    var validator = RequestValidator()
    validator.opaque([UInt8](repeating: 0, count: count), "ticket", count: 1...4)
    validator.text(String(repeating: "x", count: count), "token", bytes: 1...4)
    #expect(validator.violations.map(\.field) == (isGood ? [] : ["ticket", "token"]))
  }

  @Test func aCharacterMayBeSeveralBytes() {
    var validator = RequestValidator()
    validator.text("指", "token", bytes: 1...2)
    #expect(validator.violations.first?.reason == "must be 1 to 2 bytes, is 3")
  }

  // MARK: Reasons

  @Test(arguments: [
    ("x", nil), ("工单 4711", nil), (String(repeating: "x", count: 256), nil), ("", "is empty"), (" ", "is blank"),
    (String(repeating: "x", count: 257), "must be 1 to 256 bytes, is 257"),
    ("a\nb", "has U+000A, which no person sees there, or which turns the direction of the text"),
  ])
  func aReasonSaysSomethingInOneLine(_ text: String, _ reason: String?) {
    let expected = reason.map { [FieldViolation(field: "reason", reason: $0)] } ?? []
    var validator = RequestValidator()
    validator.reason(text)
    #expect(validator.violations == expected)
    var optional = RequestValidator()
    optional.reason(text, isOptional: true)
    #expect(optional.violations == (text.isEmpty ? [] : expected))
  }

  // MARK: Posture

  @Test func aPostureIsTakenAsItIs() throws {
    var validator = RequestValidator()
    let posture = validator.posture(.healthy)
    try validator.finish()
    #expect(
      posture
        == DevicePosture(
          platform: .iOS, osVersion: OSVersion(17, 2), biometryType: .touchID, isBiometryAvailable: true,
          isBiometryEnrolled: true, isBiometryLockedOut: false, isPasscodeSet: true,
          domainState: Array("the enrolled fingers".utf8)))
    let flipped = validator.posture(V1.DevicePosture(platform: "iOS", osVersion: "17.2", biometryLockedOut: true))
    try validator.finish()
    #expect(flipped.isBiometryLockedOut)
    #expect(!flipped.isBiometryAvailable && !flipped.isBiometryEnrolled && !flipped.isPasscodeSet)
  }

  // R2: what is missing is the developer's to mend; the person is told nothing of it.
  @Test func whatIsMissingIsNamedAsMissing() throws {
    var validator = RequestValidator()
    _ = validator.posture(V1.DevicePosture())
    #expect(validator.violations.map(\.field) == ["posture.platform", "posture.os_version"])
    #expect(validator.violations.allSatisfy { $0.reason.hasPrefix("is required") })
    let error = #expect(throws: RequestError.self) { try validator.finish() }
    #expect(error?.personText == nil)
  }

  @Test(arguments: [
    (V1.DevicePosture.healthy.with { $0.platform = "tvos" }, "platform"),
    (V1.DevicePosture.healthy.with { $0.platform = "" }, "platform"),
    (V1.DevicePosture.healthy.with { $0.osVersion = "x9" }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.osVersion = "" }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.osVersion = "Baklava" }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.osVersion = ".9" }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.osVersion = "9\u{0}" }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.osVersion = String(repeating: "9", count: 65) }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.osVersion = "-1" }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.osVersion = "4294967296" }, "os_version"),
    (V1.DevicePosture.healthy.with { $0.deviceModel = String(repeating: "x", count: 65) }, "device_model"),
    (V1.DevicePosture.healthy.with { $0.biometryType = V1.BiometryType(rawValue: 6) }, "biometry_type"),
    (V1.DevicePosture.healthy.with { $0.biometryType = V1.BiometryType(rawValue: 258) }, "biometry_type"),
    (V1.DevicePosture.healthy.with { $0.biometryType = V1.BiometryType(rawValue: -1) }, "biometry_type"),
    (V1.DevicePosture.healthy.with { $0.domainState = [UInt8](repeating: 1, count: 257) }, "domain_state"),
  ])
  func aFieldOfThePosture(_ posture: V1.DevicePosture, _ field: String) {
    var validator = RequestValidator()
    _ = validator.posture(posture)
    #expect(validator.violations.map(\.field) == ["posture.\(field)"])
  }

  @Test(arguments: [
    ("ios", "16.4.1 (a)", "16.4.1"), ("ios", "9.x", "9.0"), ("visionos", "2.1", "2.1"),
    ("web", "126.0.6478.127", "126.0.6478"),
    ("android", "12L", "12.0"), ("android", "16-crDroid", "16.0"), ("android", "Baklava", "0.0"),
    ("web", "Chrome", "0.0"),
    ("macos", "15.", "15.0"), ("android", "99999999999", "0.0"),
  ])
  func aVersionIsReadAsItsSystemGivesIt(_ platform: String, _ text: String, _ read: String) throws {
    var validator = RequestValidator()
    let posture = validator.posture(V1.DevicePosture.healthy.with { ($0.platform, $0.osVersion) = (platform, text) })
    try validator.finish()
    #expect(posture.osVersion.text == read)
  }

  @Test func theLargestPostureIsGood() throws {
    var validator = RequestValidator()
    _ = validator.posture(
      V1.DevicePosture(
        platform: "ANDROID", osVersion: "4294967295.0.0", deviceModel: String(repeating: "x", count: 64),
        domainState: [UInt8](repeating: 1, count: 256)))
    try validator.finish()
  }

  @Test func aPostureIsRequired() {
    var validator = RequestValidator()
    #expect(validator.posture(nil) == .empty)
    #expect(validator.violations.map(\.field) == ["posture"])
  }

  // MARK: Transaction

  // R38
  @Test(arguments: [
    ("login", nil, false), ("login", "taken", true), ("payment", nil, true), ("payment", "taken", false),
  ])
  func aTransactionGoesWithAPayment(_ policyName: String, _ payee: String?, _ isRefused: Bool) throws {
    let policy = try #require(EvaluationPolicy.builtIn.first { $0.name == policyName })
    var validator = RequestValidator()
    let message = payee.map { V1.Transaction(amount: "1", currency: "CNY", payee: $0, reference: "r") }
    let transaction = validator.transaction(message, for: policy)
    #expect(validator.violations.map(\.field) == (isRefused ? ["transaction"] : []))
    #expect((transaction != nil) == (policyName == "payment" && payee != nil))
  }

  // R38
  @Test(arguments: [
    (V1.Transaction(currency: "CNY", payee: "p", reference: "r"), "amount"),
    (V1.Transaction(amount: "-1", currency: "CNY", payee: "p", reference: "r"), "amount"),
    (V1.Transaction(amount: "1", currency: "cny", payee: "p", reference: "r"), "currency"),
    (V1.Transaction(amount: "1", currency: "CNY", payee: "p\n", reference: "r"), "payee"),
    (V1.Transaction(amount: "1", currency: "CNY", payee: "p"), "reference"),
  ])
  func aFieldOfTheTransaction(_ transaction: V1.Transaction, _ field: String) {
    var validator = RequestValidator()
    _ = validator.transaction(transaction, "transaction")
    #expect(validator.violations.map(\.field) == ["transaction.\(field)"])
  }

  // MARK: All of a request

  @Test func violationsAreNamedTogetherAndInOrder() throws {
    var validator = RequestValidator()
    validator.identifier("", "application_id")
    _ = validator.posture(V1.DevicePosture(platform: "tvos", osVersion: "x"))
    _ = validator.time(nil, "primary.authenticated_at")
    let error = #expect(throws: RequestError.self) { try validator.finish() }
    let fields = ["application_id", "posture.platform", "posture.os_version", "primary.authenticated_at"]
    #expect(error?.code == .invalidArgument)
    #expect(error?.rpcError(in: .default).fields == fields)
    #expect(error?.message.hasPrefix("application_id: is empty; posture.platform: is not known: one of ios, ") == true)
  }

  @Test func everyMethodNamesItsFields() async throws {
    let service = try await TestService.start()
    func fields<Request: WireMessage>(_ method: String, _ request: Request) async -> [String] {
      let error = await refusal { try await service.call(method, request, answer: V1.Binding.self) }
      #expect(error.code == .invalidArgument, "\(method)")
      return error.fields
    }
    #expect(
      await fields("EvaluationService/CanEvaluatePolicy", V1.CanEvaluatePolicyRequest())
        == ["application_id", "policy", "posture"])
    #expect(
      await fields("EvaluationService/BeginEvaluation", V1.BeginEvaluationRequest())
        == ["application_id", "policy", "localized_reason", "posture"])
    #expect(
      await fields(
        "EvaluationService/BeginEvaluation",
        V1.BeginEvaluationRequest(policy: "none", transaction: V1.Transaction(amount: "1", reference: "r")))
        == [
          "application_id", "policy", "localized_reason", "transaction.currency", "transaction.payee", "posture",
        ])
    #expect(
      await fields(
        "EvaluationService/BeginEvaluation",
        V1.BeginEvaluationRequest(policy: "login", bindingID: "b", profileID: "p"))
        == ["application_id", "profile_id", "localized_reason", "posture"])
    #expect(
      await fields("EvaluationService/SubmitAttempt", V1.SubmitAttemptRequest())
        == ["application_id", "evaluation", "posture", "attempt"])
    #expect(
      await fields("EvaluationService/InvalidateEvaluation", V1.InvalidateEvaluationRequest())
        == ["application_id", "evaluation"])
    #expect(
      await fields("BindingService/BeginBinding", V1.BeginBindingRequest())
        == ["application_id", "profile_id", "device_id", "primary", "posture"])
    #expect(
      await fields("BindingService/CompleteBinding", V1.CompleteBindingRequest())
        == ["application_id", "ticket", "posture", "keys"])
    #expect(await fields("BindingService/GetBinding", V1.GetBindingRequest()) == ["application_id", "binding_id"])
    #expect(
      await fields("BindingService/ListBindings", V1.ListBindingsRequest(pageSize: 101, pageToken: "\n"))
        == ["application_id", "profile_id", "page_size", "page_token"])
    #expect(
      await fields("BindingService/RevokeBinding", V1.RevokeBindingRequest())
        == ["application_id", "binding_id", "reason"])
    #expect(
      await fields("AdministrationService/UnlockDevice", V1.UnlockDeviceRequest())
        == ["application_id", "device_id", "reason"])
    #expect(
      await fields("AdministrationService/UnlockSecret", V1.UnlockSecretRequest())
        == ["application_id", "profile_id", "kind", "reason"])
    #expect(
      await fields("AdministrationService/EraseProfile", V1.EraseProfileRequest())
        == ["application_id", "profile_id", "reason"])
    #expect(await fields("TokenService/IntrospectToken", V1.IntrospectTokenRequest()) == ["application_id", "token"])
    #expect(await fields("TokenService/ConsumeToken", V1.ConsumeTokenRequest()) == ["application_id", "token"])
    #expect(await fields("TokenService/RevokeToken", V1.RevokeTokenRequest()) == ["application_id", "token"])
    #expect(service.store.commitCount == 0)
  }

  @Test(arguments: [
    (Attempt.key(V1.KeyProof(signature: [UInt8](repeating: 0, count: 7), factor: .biometry)), "key.signature"),
    (.key(V1.KeyProof(signature: [UInt8](repeating: 0, count: 513), factor: .biometry)), "key.signature"),
    (.key(V1.KeyProof(signature: [UInt8](repeating: 0, count: 64), factor: .passcode)), "key.factor"),
    (.key(V1.KeyProof(signature: [UInt8](repeating: 0, count: 64), factor: .unspecified)), "key.factor"),
    (.key(V1.KeyProof(signature: [UInt8](repeating: 0, count: 64), factor: V1.Factor(rawValue: 257))), "key.factor"),
    (.report(V1.DeviceReport()), "report.la_error"),
  ])
  func aFieldOfTheAttempt(_ attempt: Attempt, _ field: String) async throws {
    let service = try await TestService.start()
    let error = await refusal {
      try await service.submit(TestPhone(), V1.BeginEvaluationResponse(evaluation: [1]), attempt)
    }
    #expect(error.fields == [field])
    #expect(service.store.commitCount == 0)
  }
}
