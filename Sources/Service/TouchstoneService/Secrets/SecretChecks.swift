// The parts that check passcodes and gestures, for the attempts in evaluations and for the changes of a secret alike.
//
// A check has two phases (R14), both in a turn at the gate (`SecretGate`):
//
//     turn: read, admit, get a place, commit the failure → turn ends → verify in the place
//     → turn with the verdict: read, settle, commit → answer → turn ends with a verdict
//
// If no place is free, the turn ends and the attempt waits for one, uncounted (`SecretSchedule`). With the place it takes
// another turn, and reads and admits anew.
//
// Whatever goes wrong on the way drops the turn and the place, which frees both. A check that was admitted and has no
// verdict stays counted.

internal import DispatchRPC
internal import Logging
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// The hasher, its places, and the order of their use.
struct SecretChecks: Sendable {
  let hasher: any SecretHasher
  let places: SecretPlaces
  let gate: SecretGate

  init(hasher: any SecretHasher, executor: any SecretExecutor, timer: any DelayedExecutor) {
    self.hasher = hasher
    places = SecretPlaces(executor: executor, timer: timer)
    gate = SecretGate(timer: timer)
  }
}

extension RequestError {
  static let secretVerdictIsLate = RequestError(
    code: .unavailable, message: "other attempts at this secret have no verdict yet; try again")

  fileprivate static func tooManySecretChecks(
    of name: SecretName, by caller: Caller, _ limit: SecretSchedule.Limit
  ) -> RequestError {
    let atOnce = "as many passcodes and gestures at once as"
    let quota =
      switch limit {
      case .share(.server): Quota(subject: .server, limit: "\(atOnce) can be verified")
      case .share(.application):
        Quota(
          subject: .application(String(decoding: name.application, as: UTF8.self)),
          limit: "\(atOnce) leave room for the caller's other applications, and for other callers")
      case .share(.caller):
        Quota(subject: .caller(caller), limit: "\(atOnce) leave room for other callers")
      case .secret: Quota(subject: .secret, limit: "so many attempts at one secret, or changes of it, at once")
      }
    return RequestError(
      code: .resourceExhausted, message: "too many passcodes and gestures at once; try again", quota: quota)
  }
}

extension Exchange {
  private func holder(of name: SecretName) -> FairShares.Holder {
    FairShares.Holder(caller: Array(caller.identity.utf8), application: name.application)
  }

  /// The call waits from now until the step runs.
  private func visitor(
    at name: SecretName, _ step: @escaping SecretGate.Step, expired: @escaping @Sendable () -> Void
  ) -> SecretGate.Visitor {
    call.startWaiting()
    return SecretGate.Visitor(
      holder: holder(of: name), execute: { call.loop.execute($0) },
      step: { turn in
        call.stopWaiting()
        step(turn)
      }, expired: expired, parks: call.startWaiting)
  }

  // MARK: Turns

  /// Runs `step` in a turn at the secret, on the call's event loop; refuses the call if the gate is full or the wait
  /// too long. If the caller is gone when its turn comes, nothing runs.
  func takeTurn(at name: SecretName, of gate: SecretGate, _ step: @escaping SecretGate.Step) throws(RequestError) {
    let visitor = visitor(at: name) { turn in
      if !call.isCancelled { step(turn) }
    } expired: {
      refuse(.secretVerdictIsLate)
    }
    if let limit = gate.enter(name, visitor) { throw .tooManySecretChecks(of: name, by: caller, limit) }
  }

  /// The same for a verdict, which is written even if the caller is gone.
  func takeTurnWithVerdict(at name: SecretName, of gate: SecretGate, _ step: @escaping SecretGate.Step) {
    gate.enterAhead(name, visitor(at: name, step, expired: {}))
  }

  /// The same with a place that was waited for.
  private func takeTurn(
    at name: SecretName, of gate: SecretGate, with place: SecretPlace,
    _ step: @escaping @Sendable (SecretTurn, SecretPlace?) -> Void
  ) {
    // If the step runs again because the budget is in flight, it runs without the place.
    let offered = OfferedPlace(place)
    let visitor = visitor(at: name) { turn in
      let place = offered.take()
      if !call.isCancelled { step(turn, place) }
    } expired: {
      refuse(.secretVerdictIsLate)
    }
    gate.enterAhead(name, visitor)
  }

  // MARK: Places

  /// A place for an attempt that a turn at the secret may admit. `nil`: the turn is over, and `step` runs in another one:
  /// with a place if the attempt had to wait for one, else without.
  ///
  /// Throws RESOURCE_EXHAUSTED if too many wait. Ask before anything is counted.
  ///
  /// - Parameter kept: the place that it has already.
  func place(
    _ kept: SecretPlace?, forAttemptAt name: SecretName, in turn: SecretTurn, of checks: SecretChecks,
    orLater step: @escaping @Sendable (SecretTurn, SecretPlace?) -> Void
  ) throws(RequestError) -> SecretPlace? {
    if let kept { return kept }
    let entry = enter(name, .attempt, checks) { place in
      takeTurn(at: name, of: checks.gate, with: place, step)
    }
    switch entry {
    case .place(let place): return place
    case .waiting: turn.end()
    // If many right secrets come at once, each verdict admits as many again. These attempts wait for each other, and
    // leave places to other people's secrets.
    case .nameHasItsShare: turn.wait()
    case .refused(let limit): throw .tooManySecretChecks(of: name, by: caller, limit)
    }
    return nil
  }

  /// Runs `body` with a place for a change by primary authentication, now or later, on the call's event loop.
  func withPlace(
    forChangeOf name: SecretName, of checks: SecretChecks, _ body: @escaping @Sendable (SecretPlace) -> Void
  ) throws(RequestError) {
    switch enter(name, .change, checks, granted: body) {
    case .place(let place): body(place)
    case .waiting: break
    case .refused(let limit): throw .tooManySecretChecks(of: name, by: caller, limit)
    case .nameHasItsShare: preconditionFailure("changes do not wait for each other's verdicts")
    }
  }

  /// If the caller is gone when the request is granted, its place goes to the next one.
  private func enter(
    _ name: SecretName, _ kind: SecretSchedule.Kind, _ checks: SecretChecks,
    granted: @escaping @Sendable (SecretPlace) -> Void
  ) -> SecretPlaces.Entry {
    let request = SecretSchedule.Request(kind: kind, holder: holder(of: name), name: name)
    // Never at once: a place may be dropped anywhere, and what follows begins with a turn.
    let patience = SecretPlaces.Patience(
      granted: { place in
        call.stopWaiting()
        call.loop.execute { if !call.isCancelled { granted(place) } }
      },
      expired: {
        call.loop.execute { refuse(.tooManySecretChecks(of: name, by: caller, .share(.server))) }
      })
    call.startWaiting()
    let entry = checks.places.enter(request, patience)
    // The place of a request that waits may be granted before `enter` returns.
    if case .waiting = entry {} else { call.stopWaiting() }
    return entry
  }

  // MARK: Checking

  /// Runs `hash` in the place, and `body` with what it made on the call's event loop.
  func work<Value: Sendable>(
    in place: SecretPlace, then body: @escaping @Sendable (Value) throws(RequestError) -> Void,
    _ hash: @escaping @Sendable () throws(CryptoError) -> Value
  ) {
    let body = tracing(.verify, until: body)
    call.startWaiting()
    place.run { [meters = context.meters] in
      let began = MonotonicTime.now()
      let result: Result<Value, CryptoError>
      do throws(CryptoError) { result = .success(try hash()) } catch { result = .failure(error) }
      meters.hashed(since: began)
      onLoop {
        call.stopWaiting()
        refusingErrors { () throws(RequestError) in
          switch result {
          case .success(let value): try body(value)
          case .failure(let error): throw logged(error)
          }
        }
      }
    }
  }

  /// Nothing here is the caller's doing.
  func logged(_ error: CryptoError) -> RequestError {
    if let suppressed = context.cryptoFailures.admit(error.code, at: .now()) {
      context.logger.error(
        "a check could not be made",
        metadata: ["rpc": "\(call.path)", "error": "\(error.message)", "suppressed": "\(suppressed)"])
    }
    return switch error.code {
    case .outOfMemory: RequestError(code: .unavailable, message: "there is no memory for the check")
    default: RequestError(code: .dataLoss, message: "stored key material is damaged")
    }
  }
}
