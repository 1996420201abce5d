// The shell of `SecretFlow`: locks at secrets, permits to hash, and the hashing itself, on the event loop of a call.

internal import DispatchRPC
internal import Logging
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// The hasher, its permits, and the order of their use.
struct SecretChecks: Sendable {
  let hasher: any SecretHasher
  let permits: SecretPermits
  let locks: SecretLocks

  init(hasher: any SecretHasher, executor: any SecretExecutor, timer: any DelayedExecutor) {
    self.hasher = hasher
    permits = SecretPermits(executor: executor, timer: timer)
    locks = SecretLocks(timer: timer)
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
  private func tenant(of name: SecretName) -> FairShares.Tenant {
    FairShares.Tenant(caller: Array(caller.identity.utf8), application: name.application)
  }

  /// The call waits from now until the step runs.
  private func waiter(
    at name: SecretName, _ step: @escaping SecretLocks.Step, expired: @escaping @Sendable () -> Void
  ) -> SecretLocks.Waiter {
    call.startWaiting()
    return SecretLocks.Waiter(
      tenant: tenant(of: name), execute: { call.loop.execute($0) },
      step: { lock in
        call.stopWaiting()
        step(lock)
      }, expired: expired, parks: call.startWaiting)
  }

  // MARK: Locks

  /// Runs `step` with the secret's lock, on the call's event loop. Refuses the call if too many wait, or if the wait is
  /// too long. If the caller is gone when it gets the lock, nothing runs.
  func takeLock(at name: SecretName, of locks: SecretLocks, _ step: @escaping SecretLocks.Step) throws(RequestError) {
    let waiter = waiter(at: name) { lock in
      if !call.isCancelled { step(lock) }
    } expired: {
      refuse(.secretVerdictIsLate)
    }
    if let limit = locks.enter(name, waiter) { throw .tooManySecretChecks(of: name, by: caller, limit) }
  }

  /// The same for a verdict, which is written even if the caller is gone.
  func takeLockForVerdict(at name: SecretName, of locks: SecretLocks, _ step: @escaping SecretLocks.Step) {
    locks.enterAhead(name, waiter(at: name, step, expired: {}))
  }

  /// The same with a permit that was waited for.
  private func takeLock(
    at name: SecretName, of locks: SecretLocks, with permit: SecretPermit,
    _ step: @escaping @Sendable (SecretLock, SecretPermit?) -> Void
  ) {
    // If the step runs again because the budget is in flight, it runs without the permit.
    let offered = OfferedPermit(permit)
    let waiter = waiter(at: name) { lock in
      let permit = offered.take()
      if !call.isCancelled { step(lock, permit) }
    } expired: {
      refuse(.secretVerdictIsLate)
    }
    locks.enterAhead(name, waiter)
  }

  // MARK: Permits

  /// A permit for an attempt that has the secret's lock. `nil`: the lock has ended, and `step` runs with another one,
  /// and with a permit if the attempt had to wait for one.
  ///
  /// Throws RESOURCE_EXHAUSTED if too many wait. Ask before anything is counted.
  func permit(
    forAttemptAt name: SecretName, in lock: SecretLock, of checks: SecretChecks,
    orLater step: @escaping @Sendable (SecretLock, SecretPermit?) -> Void
  ) throws(RequestError) -> SecretPermit? {
    let entry = enter(name, .attempt, checks) { permit in
      takeLock(at: name, of: checks.locks, with: permit, step)
    }
    switch entry {
    case .permit(let permit): return permit
    case .waiting: lock.end()
    // If many right secrets come at once, each verdict admits as many again. These attempts wait for each other, and
    // leave permits to other people's secrets.
    case .nameHasItsShare: lock.wait()
    case .refused(let limit): throw .tooManySecretChecks(of: name, by: caller, limit)
    }
    return nil
  }

  /// Runs `body` with a permit for a change by primary authentication, now or later, on the call's event loop.
  func withPermit(
    forChangeOf name: SecretName, of checks: SecretChecks, _ body: @escaping @Sendable (SecretPermit) -> Void
  ) throws(RequestError) {
    switch enter(name, .change, checks, granted: body) {
    case .permit(let permit): body(permit)
    case .waiting: break
    case .refused(let limit): throw .tooManySecretChecks(of: name, by: caller, limit)
    case .nameHasItsShare: preconditionFailure("changes do not wait for each other's verdicts")
    }
  }

  /// If the caller is gone when the request is granted, its permit goes to the next one.
  private func enter(
    _ name: SecretName, _ kind: SecretSchedule.Kind, _ checks: SecretChecks,
    granted: @escaping @Sendable (SecretPermit) -> Void
  ) -> SecretPermits.Entry {
    let request = SecretSchedule.Request(kind: kind, tenant: tenant(of: name), name: name)
    // Never at once: a permit may be dropped anywhere, and what follows begins with a lock.
    let waiter = SecretPermits.Waiter(
      granted: { permit in
        call.stopWaiting()
        call.loop.execute { if !call.isCancelled { granted(permit) } }
      },
      expired: {
        call.loop.execute { refuse(.tooManySecretChecks(of: name, by: caller, .share(.server))) }
      })
    call.startWaiting()
    let entry = checks.permits.enter(request, waiter)
    // The permit of a request that waits may be granted before `enter` returns.
    if case .waiting = entry {} else { call.stopWaiting() }
    return entry
  }

  // MARK: Checking

  /// Runs `hash` in the permit, and `body` with what it made on the call's event loop.
  func work<Value: Sendable>(
    in permit: SecretPermit, then body: @escaping @Sendable (Value) throws(RequestError) -> Void,
    _ hash: @escaping @Sendable () throws(CryptoError) -> Value
  ) {
    let part = begin(.verify)
    call.startWaiting()
    permit.run { [meters = context.meters] in
      let began = MonotonicTime.now()
      let result: Result<Value, CryptoError>
      do throws(CryptoError) { result = .success(try hash()) } catch { result = .failure(error) }
      meters.hashed(since: began)
      onLoop {
        call.stopWaiting()
        part?.end()
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
