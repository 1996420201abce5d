// Passkeys of operators, as bindings of the console's own application: made and verified by calls of the service.

internal import DispatchHTTP
internal import DispatchRPC
internal import Encodings
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

extension Console {
  /// For the passkey after the password, and for pages that ask for one.
  private static let stepTime = EvaluationPolicy.console.evaluationLifetime

  /// The console itself, before an operator is known. No caller can have the name, because it has a colon.
  private static let anonymous = IdentifiedCaller(
    .console(
      "console:sign-in",
      [V1.EvaluationService.beginEvaluation.descriptor, V1.EvaluationService.submitAttempt.descriptor]))

  /// The operator as the owner of the account.
  func ownCalls(_ visit: Visit) -> OperatorCalls {
    var calls = visit.calls
    calls.caller = IdentifiedCaller(
      .console(
        visit.operator.caller.name,
        [
          V1.BindingService.beginBinding.descriptor, V1.BindingService.completeBinding.descriptor,
          V1.BindingService.listBindings.descriptor,
        ]))
    return calls
  }

  private func anonymousCalls(_ request: HTTPRequest) -> OperatorCalls {
    OperatorCalls(
      service: service, methods: methods, loop: loop, caller: Self.anonymous, peer: peer(of: request),
      language: language(of: request))
  }

  /// Returns the form by which the browser asks a passkey to sign; `nil`: the service does not answer.
  ///
  /// - Parameter name: the account whose passkey must sign; empty: the passkey says which. The options name no passkey,
  ///   so that they tell nothing of accounts.
  func newAssertion(of name: String = "", by request: HTTPRequest) async -> PasskeyForm? {
    let begun: V1.BeginEvaluationResponse? = try? await anonymousCalls(request)(
      V1.EvaluationService.beginEvaluation,
      V1.BeginEvaluationRequest(
        applicationID: ApplicationID.console, policy: EvaluationPolicy.console.name, localizedReason: "console",
        profileID: name))
    guard let begun, !begun.passkeyOptions.isEmpty else { return nil }
    return PasskeyForm(options: begun.passkeyOptions, context: Base64URL.encode(begun.evaluation))
  }

  /// The second step of a sign-in.
  func passkeyPage(
    _ account: Operator, _ stored: OperatorAccount, to page: String, _ request: HTTPRequest
  ) async -> HTTPResponse {
    guard var form = await newAssertion(of: account.accountID, by: request) else {
      return await signInPage(request, to: page, .signInBusy, .unavailable)
    }
    let key = service.newConsoleKey(lifetime: Self.stepTime)
    form.proof = Base64URL.encode(service.seal(Self.step(account, stored), key, as: .password))
    let reader = reader(of: request)
    return ConsoleResponse.page(.passkeyStep(reader, to: page, form), for: reader)
  }

  /// The account, as it was when its password was right.
  private static func step(_ account: Operator, _ stored: OperatorAccount) -> [UInt8] {
    sha256(account.basis + Array("\(stored.epoch) \(account.name)".utf8))
  }

  func signInByPasskey(_ request: HTTPRequest) async -> HTTPResponse {
    guard isOwn(request) else { return forged(request, by: .stranger(nil)) }
    guard signInRule != .password, let fields = request.formFields, let proof = V1.PasskeyProof(fields),
      let evaluation = fields.bytes(PasskeyForm.Field.context),
      let register = state.withLock({ $0.operators })
    else { return malformed(request) }
    let page = page(in: fields)
    let step = fields.bytes(PasskeyForm.Field.proof).flatMap { service.open($0, as: .password) }
    let isAlone = signInRule == .passkey
    if !isAlone {
      guard let step, service.isCurrent(step.key) else {
        return await signInPage(request, to: page, .sessionEnded, .forbidden)
      }
    }
    // It counts as a guess at a password, unless one was right: an attempt is a commit, also a stranger's.
    let counted =
      isAlone
      ? attempt(.passkey, once: Base64URL.encode(evaluation), familiarBrowser(.passkey, request), request) : nil
    if let counted, let refusal = await admit(counted, nil, request, to: page) { return refusal }
    do throws(CallFailure) {
      let answer: V1.SubmitAttemptResponse = try await anonymousCalls(request)(
        V1.EvaluationService.submitAttempt,
        V1.SubmitAttemptRequest(
          applicationID: ApplicationID.console, evaluation: evaluation, attempt: .passkey(proof)))
      guard answer.outcome == .succeeded, let account = register[answer.profileID],
        let stored = await service.operatorAccount(account.accountID), stored.basis == account.basis,
        isAlone || step?.content == Self.step(account, stored)
      else {
        service.refuseOperator(.operatorPasskeyWrong, nil, by: peer(of: request))
        return await signInPage(request, to: page, .passkeyFailed, .forbidden)
      }
      if let counted { state.withLock { $0.signIns.succeeded(counted) } }
      return await begin(
        account, stored, isAlone ? .passkey : .passwordAndPasskey,
        Credential(account, stored, standIn: register.standIn), to: page, usingUp: step.map { [$0.key] } ?? [], request)
    } catch {
      if error.code == .invalidArgument { return await signInPage(request, to: page, .passkeyFailed, .badRequest) }
      if let counted { state.withLock { $0.signIns.withdrawn(counted, at: .now()) } }
      return await signInPage(request, to: page, .signInBusy, .unavailable)
    }
  }
}

extension CallerDefinition {
  /// A part of the console, for calls about its own application.
  fileprivate static func console(_ name: String, _ methods: [MethodDescriptor]) -> CallerDefinition {
    var definition = CallerDefinition(name: name)
    definition.applications = .these([ApplicationID.console])
    definition.methods = methods.map { .method("\($0.service)/\($0.name)") }
    return definition
  }
}

extension V1.PasskeyProof {
  /// Reads the fields that the script filled in; `nil`: one is not base64url.
  fileprivate init?(_ fields: FormFields) {
    typealias Field = PasskeyForm.Field
    guard let id = fields.bytes(Field.id), let data = fields.bytes(Field.authenticator),
      let client = fields.bytes(Field.client), let signature = fields.bytes(Field.signature),
      let handle = fields.bytes(Field.handle)
    else { return nil }
    self.init(
      credentialID: id, authenticatorData: data, clientDataJSON: client, signature: signature, userHandle: handle)
  }
}

extension FormFields {
  /// Written in base64url.
  func bytes(_ name: String) -> [UInt8]? { self[name].flatMap { Base64URL.decode($0) } }
}
