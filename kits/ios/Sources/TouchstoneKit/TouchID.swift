// Logging in and paying by Touch ID, Face ID or the device's passcode: the one type to begin with.

import Foundation
import LocalAuthentication

/// Touch ID at the service, for one app on this phone. TouchstoneKitCore decides; this type is the shell around it:
/// keychain, prompts, calls.
///
/// ```swift
/// let touchID = TouchID(backend: ShopBackend())
/// let result = try await touchID.login()
/// ```
public actor TouchID {
  /// An evaluation that the service still accepts attempts for.
  private struct Open {
    let id: Data
    let signingInput: Data
    let reason: String
    let presentation: Presentation
    var factors: [Factor]
    /// Factors whose key failed once without a reason.
    var failed: Set<Factor> = []
    /// A key was found dead.
    var isKeyGone = false
    /// The system's uptime at which it is over.
    let end: TimeInterval
  }

  let backend: any TouchIDBackend
  let settings: TouchIDSettings
  let keychain: Keychain
  private var open: Open?
  private var isBusy = false

  public init(backend: any TouchIDBackend, settings: TouchIDSettings = TouchIDSettings()) {
    self.backend = backend
    self.settings = settings
    keychain = Keychain(service: settings.keychainService, sharedGroup: settings.sharedKeychainGroup)
  }

  // MARK: An app's calls

  /// Binds this phone to the account that has just logged in by the app's own login. Prompts for a finger or face, and
  /// for the device's passcode.
  /// - Parameter replaceExisting: whether it takes the phone from another account, after
  ///   ``NextStep/Kind/replaceBinding``.
  /// - Throws: ``Refusal``, and errors of the backend's code other than ``CallFailure``.
  public func enable(replaceExisting: Bool = false) async throws -> TouchIDResult {
    try await alone {
      let old = try keychain.binding()
      let slot = old?.slot.other ?? .first
      do {
        return try await bind(in: slot, replacing: old, replaceExisting: replaceExisting)
      } catch {
        keychain.removeKeys(in: slot)
        return try Self.result(of: error, for: .biometry)
      }
    }
  }

  /// Logs in.
  /// - Throws: ``Refusal``, and errors of the backend's code other than ``CallFailure``.
  public func login() async throws -> TouchIDResult {
    try await alone { try await evaluate(settings.loginPolicy, settings.loginReason, shown: nil) }
  }

  /// Approves a payment, which the app shows to the person at this moment.
  /// - Throws: ``Refusal``, and errors of the backend's code other than ``CallFailure``.
  public func pay(_ payment: Payment) async throws -> TouchIDResult {
    let reason = "\(settings.paymentReason) \(payment.amount) \(payment.currency), \(payment.payee)"
    return try await alone { try await evaluate(settings.paymentPolicy, reason, shown: payment) }
  }

  /// Goes on with the login or payment that the last result left open, by another factor or the same one again.
  public func prove(by proof: Proof) async throws -> TouchIDResult {
    try await alone {
      guard let open, ProcessInfo.processInfo.systemUptime < open.end else {
        return TouchIDResult(NextStep(.beginAgain), .retry)
      }
      switch proof {
      case .biometry: return try await prove(by: .biometry, open)
      case .deviceOwner: return try await prove(by: .deviceOwner, open)
      case .passcode(let passcode):
        return try await submit(open, .passcode) { $0.passcode = Attempt.Passcode(passcode: passcode) }
      case .gesture(let points):
        return try await submit(open, .gesture) { $0.gesture = Attempt.Gesture(points: points) }
      }
    }
  }

  public enum Proof: Sendable {
    case biometry
    case deviceOwner
    /// The passcode at the service, not the device's.
    case passcode(String)
    /// Dots 0 to 8, row by row.
    case gesture([Int])
  }

  /// Revokes the binding, and removes it and its keys from the phone.
  /// - Throws: the error of the backend's code. Nothing is removed then.
  public func disable() async throws {
    try await alone {
      do {
        if let binding = try keychain.binding() { try await backend.revokeBinding(binding.bindingId) }
      } catch let failure as CallFailure where failure.status == "NOT_FOUND" {
        // The service does not know this binding any more.
      }
      open = nil
      keychain.forget()
    }
  }

  /// Returns what the phone can do now. Shows no prompt and makes no call.
  public func status() async throws -> TouchIDStatus {
    let (posture, error) = try readPosture()
    return TouchIDStatus(
      state: try await state(), biometryName: [2: "Touch ID", 3: "Face ID", 4: "Optic ID"][posture.biometryType],
      biometry: PhoneAnswer.ofLAError(error ?? 0).means, haveFingersChanged: try haveFingersChanged(posture))
  }

  // MARK: Binding

  private func bind(
    in slot: Keychain.Slot, replacing old: StoredBinding?, replaceExisting: Bool
  ) async throws -> TouchIDResult {
    let device = try keychain.deviceID()
    let installation = try makeInstallation()
    let ticket = try await backend.beginBinding(BindingRequest(deviceId: device, posture: try readPosture().posture))
    if let denial = ticket.denial { return result(of: denial) }
    let input = ticket.signingInput ?? Data()
    let signed = try SigningInput.ofBinding(
      input, application: backend.application, profile: await backend.profile(), device: device,
      challenge: ticket.challenge)

    keychain.removeKeys(in: slot)
    let context = LAContext()
    context.localizedFallbackTitle = ""
    var keys: [NewKey] = []
    var sealed: [Int: Data] = [:]
    let protections: [Protection] =
      settings.makesPasscodeKey ? [.biometryCurrentSet, .devicePasscode] : [.biometryCurrentSet]
    for protection in protections {
      _ = try keychain.makeKey(protection, in: slot)
      let second = try settings.hybridKeys?.makeKey(Keychain.accessControl(protection))
      try await prompt(context, for: protection, settings.enableReason)
      guard let key = try keychain.key(protection, in: slot, context: context), let publicKey = key.publicBytes
      else { throw PhoneFailure.keyGone }
      var new = NewKey(publicKey: publicKey, protection: protection, signature: try key.signature(of: input))
      if let second, let maker = settings.hybridKeys {
        new.mlDsa65PublicKey = second.publicKey
        new.mlDsa65Signature = try maker.signature(of: input, bySealed: second.sealed, context: context)
        sealed[protection.rawValue] = second.sealed
      }
      keys.append(new)
    }

    // Read after the prompts: a phone that was locked has a domain state then.
    let posture = try readPosture().posture
    var request = NewBinding(
      ticket: ticket.ticket ?? Data(), deviceName: settings.deviceName, keys: keys, posture: posture,
      replaceExisting: replaceExisting)
    let bound = try await complete(&request, input, vouchedBy: old?.installation == installation ? old : nil)
    guard let id = bound.binding?.bindingId, !id.isEmpty else { throw Refusal("no-binding") }
    try keychain.save(
      StoredBinding(
        bindingId: id, profile: signed.profile, installation: installation, slot: slot,
        made: protections.map(\.rawValue), fingers: posture.domainState,
        appAttestKey: request.appAttest?.keyId.base64EncodedString(), mlDsa65Keys: sealed))
    keychain.removeKeys(in: slot.other)
    return TouchIDResult(NextStep(bound: bound), .success)
  }

  /// Completes the binding, with the app's word for it.
  /// - Parameter old: its App Attest key may still vouch.
  private func complete(
    _ request: inout NewBinding, _ input: Data, vouchedBy old: StoredBinding?
  ) async throws -> BoundPhone {
    guard let voucher = settings.appAttest else { return try await backend.completeBinding(request) }
    let data = Data(ClientData.ofBinding(signingInput: input, posture: request.posture, keys: request.keys))
    if let id = old?.appAttestKey, let assertion = try? await voucher.assert(id, clientData: data) {
      request.appAttest = AppAttestation(keyId: Data(base64Encoded: id) ?? Data(), assertion: assertion)
      do {
        return try await backend.completeBinding(request)
      } catch let failure as CallFailure where failure.status == "INVALID_ARGUMENT" {
        // The service does not know this key, or not any more. The ticket still serves.
      }
    }
    let id = try await voucher.generateKey()
    let attestation = try await voucher.attest(id, clientData: data)
    request.appAttest = AppAttestation(keyId: Data(base64Encoded: id) ?? Data(), attestation: attestation)
    return try await backend.completeBinding(request)
  }

  // MARK: Logging in and paying

  private func evaluate(_ policy: String, _ reason: String, shown: Payment?) async throws -> TouchIDResult {
    open = nil
    let state = try await state()
    if state.forgetsKeys { keychain.forget() }
    guard let binding = try keychain.binding(), state == .ready || state == .bindAgain else {
      return TouchIDResult(NextStep(.bindAgain), .unavailable)
    }
    do {
      let begun = try await backend.beginEvaluation(
        EvaluationRequest(
          policy: policy, bindingId: binding.bindingId, localizedReason: reason,
          fallbackTitle: settings.fallbackTitle.map(Title.init), cancelTitle: settings.cancelTitle.map(Title.init),
          transaction: shown, posture: try readPosture().posture))
      if let denial = begun.denial { return result(of: denial) }
      let next = NextStep(begun: begun, in: settings.languages)
      guard next.kind == .prompt, let factor = next.factor else { return TouchIDResult(next, .unavailable) }
      let input = begun.signingInput ?? Data()
      let id = begun.evaluation ?? Data()
      do {
        _ = try SigningInput.ofEvaluation(
          input, application: backend.application, binding: binding.bindingId, policy: policy, shown: shown,
          challenge: nil)
      } catch {
        try? await backend.invalidateEvaluation(id)
        throw error
      }
      // A payment's prompt shows what is signed. A login's has the service's text, if a person may be shown it.
      let texts = (begun.presentation ?? Presentation()).legible
      let opened = Open(
        id: id, signingInput: input, reason: shown == nil ? texts.localizedReason ?? reason : reason,
        presentation: texts, factors: begun.factors ?? [], end: ProcessInfo.processInfo.systemUptime + begun.lifetime)
      open = opened
      guard factor == .biometry || factor == .deviceOwner else {
        return TouchIDResult(next, .unavailable, factors: opened.factors)
      }
      return try await prove(by: factor, opened)
    } catch {
      return try Self.result(of: error, for: .biometry)
    }
  }

  /// Prompts, signs, and sends the signature; or the phone's error.
  private func prove(by factor: Factor, _ evaluation: Open) async throws -> TouchIDResult {
    let protection: Protection = factor == .biometry ? .biometryCurrentSet : .devicePasscode
    let context = LAContext()
    context.localizedFallbackTitle = evaluation.presentation.fallbackTitle ?? ""
    if let title = evaluation.presentation.cancelTitle { context.localizedCancelTitle = title }
    let proof: Attempt.KeyProof
    do {
      // Not after a change of fingers: the key of the old set is dead, or will be refused.
      guard let binding = try keychain.binding(),
        let key = try keychain.key(protection, in: binding.slot, context: context),
        try factor != .biometry || !haveFingersChanged(readPosture().posture)
      else { throw PhoneFailure.keyGone }
      try await prompt(context, for: protection, evaluation.reason)
      var signed = Attempt.KeyProof(signature: try key.signature(of: evaluation.signingInput), factor: factor)
      if let sealed = binding.mlDsa65Keys[protection.rawValue] {
        // Half of a signature would count as a wrong one.
        guard let maker = settings.hybridKeys else { throw PhoneFailure.keyGone }
        signed.mlDsa65Signature = try maker.signature(of: evaluation.signingInput, bySealed: sealed, context: context)
      }
      proof = signed
    } catch {
      guard let answer = PhoneFailure(error)?.answer else { throw error }
      // The service counts reports of failures against biometrics, and this was the device's passcode.
      if answer.means == .failure, factor == .deviceOwner {
        return TouchIDResult(NextStep(.tryAgain, factor), .failure, factors: evaluation.factors)
      }
      if let code = answer.send {
        return try await submit(evaluation, factor) { $0.report = Attempt.Report(laError: code) }
      }
      let again = evaluation.failed.contains(factor)
      open?.failed.insert(factor)
      let others = evaluation.factors.filter { $0 != factor }
      let next = NextStep(prompt: answer.means, for: factor, again: again, next: others)
      if next.kind == .bindAgain { open?.isKeyGone = true }
      return TouchIDResult(next, answer.means, factors: others)
    }
    return try await submit(evaluation, factor) { $0.key = proof }
  }

  private func submit(
    _ evaluation: Open, _ factor: Factor, _ fill: (inout Attempt) -> Void
  ) async throws -> TouchIDResult {
    // Read anew: after the device's passcode a locked phone has a domain state again.
    var attempt = Attempt(evaluation: evaluation.id, posture: try readPosture().posture)
    fill(&attempt)
    do {
      attempt.appAssertion = await assertion(for: attempt, evaluation.signingInput)
      let answer: Answer
      do {
        answer = try await backend.submitAttempt(attempt)
      } catch let failure as CallFailure where NextStep(failure: failure).kind == .assertAgain {
        // Another attempt overtook this one, and its assertion's counter.
        attempt.appAssertion = await assertion(for: attempt, evaluation.signingInput)
        answer = try await backend.submitAttempt(attempt)
      }
      return await finish(answer, factor, attempt.posture)
    } catch {
      return try Self.result(of: error, for: factor)
    }
  }

  private func assertion(for attempt: Attempt, _ input: Data) async -> Data? {
    guard let proof = attempt.key, let id = try? keychain.binding()?.appAttestKey else { return nil }
    let data = ClientData.ofAttempt(
      signingInput: input, signature: proof.signature, mlDsa65Signature: proof.mlDsa65Signature,
      posture: attempt.posture)
    // Without an assertion the service decides whether its policy needs one.
    return try? await settings.appAttest?.assert(id, clientData: Data(data))
  }

  private func finish(_ answer: Answer, _ factor: Factor, _ posture: Posture) async -> TouchIDResult {
    var isKeyGone = open?.isKeyGone == true
    if answer.means == .success, !isKeyGone { isKeyGone = (try? await state()) == .bindAgain }
    let next = NextStep(answer: answer, to: factor, isKeyGone: isKeyGone, in: settings.languages)
    let factors = answer.nextFactors ?? []
    open?.factors = factors
    var result = TouchIDResult(next, answer.means, factors: factors)
    result.attemptsLeft = answer.attemptsLeft
    if next.kind == .done {
      open = nil
      (result.token, result.profile) = (answer.token, answer.profileId)
      // The service takes the fingers of this moment as known (R26).
      if factor != .biometry, var binding = try? keychain.binding(), !posture.domainState.isEmpty {
        binding.fingers = posture.domainState
        // Otherwise the next login compares with the old set, and asks for the passcode once more.
        try? keychain.save(binding)
      }
    }
    if answer.denial?.isOfBinding == true { keychain.forget() }
    return result
  }

  // MARK: Results

  private func result(of denial: Denial) -> TouchIDResult {
    if denial.isOfBinding { keychain.forget() }
    let step = NextStep(denial: denial, in: settings.languages)
    return TouchIDResult(step, denial.reason == "BIOMETRY_LOCKOUT" ? .lockout : .unavailable)
  }

  /// - Throws: the error, if it is neither the phone's nor a call's.
  private static func result(of error: any Error, for factor: Factor) throws -> TouchIDResult {
    if let failure = error as? CallFailure { return TouchIDResult(NextStep(failure: failure), .unavailable) }
    guard let means = PhoneFailure(error)?.answer.means else { throw error }
    return TouchIDResult(NextStep(prompt: means, for: factor, again: false, next: []), means)
  }

  /// One prompt at a time, and one assertion: the service takes their counters in order.
  private func alone<Value>(_ body: () async throws -> Value) async throws -> Value {
    guard !isBusy else { throw Refusal("busy") }
    isBusy = true
    defer { isBusy = false }
    return try await body()
  }
}
