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

/// A call at a secret. It is handed its locks, permits and verdicts on its event loop.
protocol SecretUser: AnyObject, Sendable {
  associatedtype Response: WireMessage

  var exchange: Exchange<Response> { get }
  /// - Parameter permit: one that was waited for.
  func locked(by lock: SecretLock, with permit: SecretPermit?)
  func permitted(by permit: SecretPermit)
  func hashed(_ verdict: SecretVerdict)
  func refuse(_ error: RequestError)
}

extension SecretUser {
  private func tenant(of name: SecretName) -> FairShares.Tenant {
    FairShares.Tenant(caller: Array(exchange.caller.identity.utf8), application: name.application)
  }

  // MARK: Locks

  /// The call waits from now until it has the lock. If its caller is gone by then, nothing runs, unless there is a
  /// verdict to write.
  ///
  /// - Parameter offered: a permit that was waited for. If the call is locked again because the budget is in flight, it
  ///   has none.
  private func waiter(
    at name: SecretName, with offered: OfferedPermit? = nil, hasVerdict: Bool = false
  ) -> SecretLocks.Waiter {
    let call = exchange.call
    call.startWaiting()
    return SecretLocks.Waiter(
      tenant: tenant(of: name), execute: { call.loop.execute($0) },
      step: { [self] lock in
        call.stopWaiting()
        let permit = offered?.take()
        if hasVerdict || !call.isCancelled { locked(by: lock, with: permit) }
      }, expired: { [self] in refuse(.secretVerdictIsLate) }, parks: call.startWaiting)
  }

  /// → `locked`, or `refuse` if too many wait, or if the wait is too long.
  func takeLock(at name: SecretName, of checks: SecretChecks) {
    if let limit = checks.locks.enter(name, waiter(at: name)) {
      refuse(.tooManySecretChecks(of: name, by: exchange.caller, limit))
    }
  }

  /// The same for a verdict, which is written even if the caller is gone. It never waits for another one.
  func takeLockForVerdict(at name: SecretName, of checks: SecretChecks) {
    checks.locks.enterAhead(name, waiter(at: name, hasVerdict: true))
  }

  // MARK: Permits

  /// A permit for an attempt that has the secret's lock. `nil`: the lock has ended; → `locked` again, with a permit if
  /// it was waited for, or `refuse` if too many wait. Ask before anything is counted.
  func permit(forAttemptAt name: SecretName, in lock: SecretLock, of checks: SecretChecks) -> SecretPermit? {
    switch enter(name, .attempt, checks) {
    case .permit(let permit): return permit
    case .waiting: lock.end()
    // If many right secrets come at once, each verdict admits as many again. These attempts wait for each other, and
    // leave permits to other people's secrets.
    case .nameHasItsShare: lock.wait()
    case .refused(let limit): refuse(.tooManySecretChecks(of: name, by: exchange.caller, limit))
    }
    return nil
  }

  /// → `permitted`, now or later, for a change by primary authentication.
  func takePermit(forChangeOf name: SecretName, of checks: SecretChecks) {
    switch enter(name, .change, checks) {
    case .permit(let permit): permitted(by: permit)
    case .waiting: break
    case .refused(let limit): refuse(.tooManySecretChecks(of: name, by: exchange.caller, limit))
    case .nameHasItsShare: preconditionFailure("changes do not wait for each other's verdicts")
    }
  }

  /// If the caller is gone when the request is granted, its permit goes to the next one.
  private func enter(_ name: SecretName, _ kind: SecretSchedule.Kind, _ checks: SecretChecks) -> SecretPermits.Entry {
    let call = exchange.call
    // Never at once: a permit may be dropped anywhere, and what follows begins with a lock.
    let waiter = SecretPermits.Waiter(
      granted: { [self] permit in
        call.stopWaiting()
        call.loop.execute { [self] in
          guard !call.isCancelled else { return }
          switch kind {
          case .attempt: checks.locks.enterAhead(name, self.waiter(at: name, with: OfferedPermit(permit)))
          case .change: permitted(by: permit)
          }
        }
      },
      expired: { [self] in
        call.loop.execute { [self] in
          refuse(.tooManySecretChecks(of: name, by: exchange.caller, .share(.server)))
        }
      })
    call.startWaiting()
    let request = SecretSchedule.Request(kind: kind, tenant: tenant(of: name), name: name)
    let entry = checks.permits.enter(request, waiter)
    // The permit of a request that waits may be granted before `enter` returns.
    if case .waiting = entry {} else { call.stopWaiting() }
    return entry
  }

  // MARK: Checking

  /// → `hashed`, with the permit, which ends.
  func hash(_ work: SecretWork, in permit: SecretPermit, of checks: SecretChecks) {
    let (exchange, part) = (exchange, exchange.begin(.verify))
    exchange.call.startWaiting()
    permit.run { [self, hasher = checks.hasher] in
      let began = MonotonicTime.now()
      let result = Result { () throws(CryptoError) in try work.run(with: hasher) }
      exchange.context.meters.hashed(since: began)
      exchange.onLoop { [self] in
        exchange.call.stopWaiting()
        part?.end()
        switch result {
        case .success(let verdict): hashed(verdict)
        case .failure(let error): refuse(exchange.logged(error))
        }
      }
    }
  }
}

extension Exchange {
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
