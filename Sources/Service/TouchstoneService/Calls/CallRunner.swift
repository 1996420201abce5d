// Performs the steps of a call's machine.

internal import DispatchRPC
internal import TouchstoneCrypto
internal import TouchstoneStore

/// One call's machine, and the shell around it: it performs a step, returns to the call's event loop, and hands in the
/// result. It counts the conflicts, records the spans, and refuses the call where a step fails.
///
/// `@unchecked Sendable`: the guard is the call's event loop, on which every function but a completion's first line
/// runs.
final class CallRunner<Machine: CallMachine>: SecretUser, @unchecked Sendable {
  private let service: TouchstoneService
  private let exchange: Exchange<Machine.Answer.Response>
  private var machine: Machine
  private var conflicts = 0
  /// The span of the step that is under way; `nil`: the call is not traced.
  private var part: OpenPart?
  /// `nil`: no commit is under way.
  private var writing: Writing?
  /// At the secret. It ends when it is dropped, as the permit does.
  private var lock: SecretLock?
  private var permit: SecretPermit?

  private init(_ machine: Machine, _ exchange: Exchange<Machine.Answer.Response>, _ service: TouchstoneService) {
    (self.machine, self.exchange, self.service) = (machine, exchange, service)
  }

  static func run(_ machine: Machine, for exchange: Exchange<Machine.Answer.Response>, by service: TouchstoneService) {
    let runner = CallRunner(machine, exchange, service)
    runner.perform(runner.machine.began())
  }

  private func perform(_ step: CallStep<Machine.Answer>) {
    switch step {
    case .read(let query): read(query)
    case .find(let query): find(query)
    case .verify(let check):
      part = exchange.begin(.verify)
      exchange.context.verifications.add(check) { [self] isValid in verified(isValid) }
    case .verifyApart(let check):
      part = exchange.begin(.verify)
      exchange.context.verifications.workers.run(check, on: exchange.call.loop) { [self] isValid in
        verified(isValid)
      }
    case .lock, .lockForVerdict, .permit, .permitChange, .wait, .hash, .unlock: performAtSecret(step)
    case .commit(.changes(let changeSet)): commit(Writing(changeSet.events, written: changeSet.events), changeSet)
    case .commit(.refusal(let refusal)): record(refusal)
    case .commit(.nothing): confirm(nil)
    case .again: conflicted { $0.began() }
    case .answer(let answer):
      release()
      answer.send(by: service, to: exchange)
    case .refuse(let error): refuse(error)
    case .fail(let error): refuse(exchange.logged(error))
    }
  }

  func refuse(_ error: RequestError) {
    release()
    exchange.refuse(error)
  }

  /// Whatever goes wrong, lock and permit end.
  private func release() {
    lock?.end()
    (lock, permit) = (nil, nil)
  }

  private func conflicted(_ event: (inout Machine) -> CallStep<Machine.Answer>) {
    conflicts += 1
    guard conflicts < maximumDecisionRounds else { return refuse(.tooManyRounds) }
    perform(event(&machine))
  }

  /// Hands an event to the machine, and performs the step that follows.
  private func advance(_ event: (inout Machine, Moment) -> CallStep<Machine.Answer>) {
    part?.end()
    part = exchange.begin(.decide)
    let step = event(&machine, service.moment)
    if case .commit = step { part?.end() }
    perform(step)
  }

  /// Refuses the call with a failure of the store.
  private func succeeded<Value>(_ result: Result<Value, StoreError>) -> Value? {
    switch result {
    case .success(let value): return value
    case .failure(let error):
      refuse(exchange.logged(error))
      return nil
    }
  }

  private var isOnLoop: Bool { exchange.call.loop.isCurrent }

  // MARK: Reading

  private func read(_ query: SubjectQuery) {
    part = exchange.begin(.read)
    service.records(query) { [self] result in
      if isOnLoop {
        received(result, query.named)
      } else {
        exchange.call.loop.execute { [self] in received(result, query.named) }
      }
    }
  }

  private func received(_ result: Result<AttemptRecords, StoreError>, _ named: EvaluationSubject) {
    guard let records = succeeded(result) else { return }
    let subject = SharedRecord(service.subject(named, of: records))
    advance { machine, moment in machine.read(subject, at: moment) }
  }

  private func find(_ query: SubjectQuery) {
    part = exchange.begin(.read)
    service.records(query) { [self] result in
      if isOnLoop { found(result) } else { exchange.call.loop.execute { [self] in found(result) } }
    }
  }

  private func found(_ result: Result<AttemptRecords, StoreError>) {
    guard let records = succeeded(result) else { return }
    advance { machine, moment in machine.found(records, at: moment) }
  }

  // MARK: Verifying

  private func verified(_ isValid: Bool) {
    advance { machine, moment in machine.verified(isValid, at: moment) }
  }

  // MARK: Committing

  /// A commit that is under way.
  private final class Writing {
    let began = MonotonicTime.now()
    let decided: [EventDraft]
    let written: [EventDraft]
    /// If the commit fails, it is put back.
    let admitted: (refusal: ThrottledEvent, admission: EventThrottle.Admission)?

    init(
      _ decided: [EventDraft], written: [EventDraft],
      admitted: (refusal: ThrottledEvent, admission: EventThrottle.Admission)? = nil
    ) {
      (self.decided, self.written, self.admitted) = (decided, written, admitted)
    }
  }

  private func record(_ refusal: ThrottledEvent) {
    let admission = service.admit(refusal, of: exchange.caller)
    guard let changeSet = refusal.changeSet(admission) else { return confirm(refusal.event) }
    commit(Writing([refusal.event], written: changeSet.events, admitted: (refusal, admission)), changeSet)
  }

  private func commit(_ writing: Writing, _ changeSet: ChangeSet) {
    self.writing = writing
    part = exchange.begin(.commit)
    service.store.commit(changeSet) { [self] result in
      if isOnLoop { wrote(result) } else { exchange.call.loop.execute { [self] in wrote(result) } }
    }
  }

  private func wrote(_ result: Result<Void, StoreError>) {
    guard let writing else { preconditionFailure("a commit ends once") }
    self.writing = nil
    part?.end()
    switch result {
    case .success:
      service.meters.store.committed(since: writing.began)
      exchange.logDecisions(writing.decided, written: writing.written)
      if let count = machine.nameCount { service.unknownNames.note(count, by: exchange.caller) }
      perform(machine.committed())
    case .failure(let error):
      if let (refusal, admission) = writing.admitted { service.putBack(admission, of: refusal, by: exchange.caller) }
      guard error.code == .conflict else { return refuse(exchange.logged(error)) }
      service.meters.store.failed(.conflict)
      conflicted { $0.conflicted() }
    }
  }

  /// Nothing is written: the answer still rests on records that must be durable.
  private func confirm(_ decided: EventDraft?) {
    service.store.confirm { [self] result in
      if isOnLoop {
        confirmed(result, decided)
      } else {
        exchange.call.loop.execute { [self] in confirmed(result, decided) }
      }
    }
  }

  private func confirmed(_ result: Result<Void, StoreError>, _ decided: EventDraft?) {
    guard succeeded(result) != nil else { return }
    if let decided { exchange.logDecisions([decided], written: []) }
    perform(machine.committed())
  }

  // MARK: At a secret (R14)

  private func performAtSecret(_ step: CallStep<Machine.Answer>) {
    let checks = service.secretChecks
    switch step {
    case .lock(let name): checks.takeLock(at: name, for: self)
    case .lockForVerdict(let name): checks.takeLockForVerdict(at: name, for: self)
    case .permit(let name):
      guard let lock else { preconditionFailure("a permit is asked for in a lock") }
      // If the lock has ended, another one follows.
      guard let permit = checks.permit(forAttemptAt: name, in: lock, for: self) else { return self.lock = nil }
      permitted(by: permit)
    case .permitChange(let name): checks.takePermit(forChangeOf: name, for: self)
    case .wait:
      permit = nil
      lock?.wait()
      lock = nil
    case .hash(let work):
      guard let permit else { preconditionFailure("a hash needs a permit") }
      self.permit = nil
      part = exchange.begin(.verify)
      checks.hash(work, in: permit, for: self)
    case .unlock(let hasVerdict):
      if hasVerdict { lock?.endWithVerdict() } else { lock?.end() }
      lock = nil
      perform(machine.unlocked())
    default: preconditionFailure("no step at a secret")
    }
  }

  func locked(by lock: SecretLock, with permit: SecretPermit?) {
    self.lock = lock
    if let permit { self.permit = permit }
    perform(machine.locked(hasPermit: permit != nil))
  }

  func permitted(by permit: SecretPermit) {
    self.permit = permit
    perform(machine.permitted())
  }

  func hashed(_ verdict: Result<SecretVerdict, CryptoError>) {
    part?.end()
    switch verdict {
    case .success(let verdict): perform(machine.hashed(verdict))
    case .failure(let error): refuse(exchange.logged(error))
    }
  }

  var call: any IncomingCall { exchange.call }
  var caller: Caller { exchange.caller }
  var context: LoopContext { exchange.context }
}
