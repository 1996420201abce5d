// The shell of `SecretFlow`: locks at secrets, permits to hash, and the hashing itself, on the event loop of a call.

internal import DispatchRPC
internal import Logging
internal import TouchstoneCrypto

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
          subject: .application(name.profile.applicationID),
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
  var call: any IncomingCall { get }
  var caller: Caller { get }
  var context: LoopContext { get }

  /// - Parameter permit: one that was waited for.
  func locked(by lock: SecretLock, with permit: SecretPermit?)
  func permitted(by permit: SecretPermit)
  func hashed(_ verdict: Result<SecretVerdict, CryptoError>)
  func refuse(_ error: RequestError)
}

extension SecretChecks {
  private static func tenant(of user: some SecretUser, at name: SecretName) -> FairShares.Tenant {
    FairShares.Tenant(caller: Array(user.caller.identity.utf8), application: name.application)
  }

  // MARK: Locks

  /// The call waits from now until it has the lock. If its caller is gone by then, nothing runs, unless there is a
  /// verdict to write.
  ///
  /// - Parameter offered: a permit that was waited for. If the call is locked again because the budget is in flight, it
  ///   has none.
  private func waiter(
    at name: SecretName, for user: some SecretUser, with offered: OfferedPermit? = nil, hasVerdict: Bool = false
  ) -> SecretLocks.Waiter {
    let call = user.call
    call.startWaiting()
    return SecretLocks.Waiter(
      tenant: Self.tenant(of: user, at: name), loop: call.loop,
      step: { lock in
        call.stopWaiting()
        let permit = offered?.take()
        if hasVerdict || !call.isCancelled { user.locked(by: lock, with: permit) }
      }, expired: { user.refuse(.secretVerdictIsLate) }, parks: call.startWaiting)
  }

  /// → `locked`, or `refuse` if too many wait, or if the wait is too long.
  func takeLock(at name: SecretName, for user: some SecretUser) {
    if let limit = locks.enter(name, waiter(at: name, for: user)) {
      user.refuse(.tooManySecretChecks(of: name, by: user.caller, limit))
    }
  }

  /// The same for a verdict, which is written even if the caller is gone. It never waits for another one.
  func takeLockForVerdict(at name: SecretName, for user: some SecretUser) {
    locks.enterAhead(name, waiter(at: name, for: user, hasVerdict: true))
  }

  // MARK: Permits

  /// A permit for an attempt that has the secret's lock. `nil`: the lock has ended; → `locked` again, with a permit if
  /// it was waited for, or `refuse` if too many wait. Ask before anything is counted.
  func permit(forAttemptAt name: SecretName, in lock: SecretLock, for user: some SecretUser) -> SecretPermit? {
    switch enter(name, .attempt, user) {
    case .permit(let permit): return permit
    case .waiting: lock.end()
    // If many right secrets come at once, each verdict admits as many again. These attempts wait for each other, and
    // leave permits to other people's secrets.
    case .nameHasItsShare: lock.wait()
    case .refused(let limit): user.refuse(.tooManySecretChecks(of: name, by: user.caller, limit))
    }
    return nil
  }

  /// → `permitted`, now or later, for a change by primary authentication.
  func takePermit(forChangeOf name: SecretName, for user: some SecretUser) {
    switch enter(name, .change, user) {
    case .permit(let permit): user.permitted(by: permit)
    case .waiting: break
    case .refused(let limit): user.refuse(.tooManySecretChecks(of: name, by: user.caller, limit))
    case .nameHasItsShare: preconditionFailure("changes do not wait for each other's verdicts")
    }
  }

  /// If the caller is gone when the request is granted, its permit goes to the next one.
  private func enter(
    _ name: SecretName, _ kind: SecretSchedule.Kind, _ user: some SecretUser
  ) -> SecretPermits.Entry {
    let call = user.call
    // Never at once: a permit may be dropped anywhere, and what follows begins with a lock.
    let waiter = SecretPermits.Waiter(
      granted: { [self] permit in
        call.stopWaiting()
        call.loop.execute {
          guard !call.isCancelled else { return }
          switch kind {
          case .attempt: locks.enterAhead(name, self.waiter(at: name, for: user, with: OfferedPermit(permit)))
          case .change: user.permitted(by: permit)
          }
        }
      },
      expired: {
        call.loop.execute { user.refuse(.tooManySecretChecks(of: name, by: user.caller, .share(.server))) }
      })
    call.startWaiting()
    let entry = permits.enter(
      SecretSchedule.Request(kind: kind, tenant: Self.tenant(of: user, at: name), name: name), waiter)
    // The permit of a request that waits may be granted before `enter` returns.
    if case .waiting = entry {} else { call.stopWaiting() }
    return entry
  }

  // MARK: Checking

  /// → `hashed`, with the permit, which ends.
  func hash(_ work: SecretWork, in permit: SecretPermit, for user: some SecretUser) {
    let (call, meters) = (user.call, user.context.meters)
    call.startWaiting()
    permit.run { [hasher] in
      let began = MonotonicTime.now()
      let verdict = Result { () throws(CryptoError) in try work.run(with: hasher) }
      meters.hashed(since: began)
      @Sendable func end() {
        call.stopWaiting()
        user.hashed(verdict)
      }
      if call.loop.isCurrent { end() } else { call.loop.execute(end) }
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
