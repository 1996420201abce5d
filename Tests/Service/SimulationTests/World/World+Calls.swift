// Calls are sent and answered in a world; the laws query it about them.

import DispatchRPC
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

extension World {
  // MARK: Calls

  private static let languages: [String?] = [nil, nil, "en", "zh-CN, en;q=0.5", "de, zh-Hans;q=0.1", ";;q=x,\u{1}"]
  private static let memory = 16

  /// - Parameter replica: any unless given.
  @discardableResult func send<R: Request>(
    _ request: R, to replica: Replica? = nil, then: ((R.Answer) -> Void)? = nil
  ) -> Call? {
    guard let bytes = try? request.encoded() else {
      report("codec", "a \(R.self) could not be encoded")
      return nil
    }
    if request.isRepeatable { recentMessages = (recentMessages + [(R.self, bytes)]).suffix(Self.memory) }
    return send(bytes, request, isGarbled: false, to: replica, then: then)
  }

  /// Whatever bytes, to a request's method: they are that request if they can be read as one.
  func send<R: Request>(_ bytes: [UInt8], as type: R.Type) {
    send(bytes, try? R.decoded(from: bytes), isGarbled: true, to: nil, then: nil)
  }

  @discardableResult private func send<R: Request>(
    _ bytes: [UInt8], _ request: R?, isGarbled: Bool, to replica: Replica?, then: ((R.Answer) -> Void)?
  ) -> Call {
    let replica = replica ?? chance.pick(replicas)
    let loop = chance.pick(replica.life.loops)
    disturbCalls()
    callCount += 1
    let call = Call(
      number: callCount, method: R.method, message: bytes, language: isClockStill ? nil : chance.pick(Self.languages),
      request: request, isGarbled: isGarbled, life: replica.life, loop: loop,
      before: isIdle && !hasStaleReads ? database.records : nil, sentStep: time.step
    ) { [unowned self] call, ending in
      ended(call, ending)
      replica.forget(call)
      if case .answered(let bytes) = ending { answered(call, request, bytes, then) }
    }
    trace.note("\(time.step) call \(call.number): \(R.method) to replica \(replica.index).\(loop.index)")
    replica.accept(call)
    return call
  }

  private func answered<R: Request>(_ call: Call, _ request: R?, _ bytes: [UInt8], _ then: ((R.Answer) -> Void)?) {
    guard let request else { return report("codec", "bytes that are no \(R.method) are answered") }
    guard let answer = try? answers.decode(R.Answer.self, from: bytes) else {
      return report("codec", "an answer of \(R.method) does not decode")
    }
    trace.note("\(time.step)   call \(call.number): \(request.summary(of: answer))")
    request.check(answer, to: call, in: self)
    then?(answer)
  }

  private func ended(_ call: Call, _ ending: Call.Ending) {
    require(!call.isEnded, "answer", "call \(call.number) (\(call.method)) was answered twice")
    switch ending {
    case .answered: break
    case .lost: trace.note("\(time.step)   call \(call.number) is lost")
    case .failed(let error):
      trace.note("\(time.step)   call \(call.number) fails: \(error.code), \(error.message)")
      Failures.check(error, of: call, in: self)
    }
  }

  /// A caller stops waiting.
  func hangUp() {
    guard let call = chance.pickAny(replicas.flatMap(\.life.calls)) else { return }
    trace.note("\(time.step) the caller of call \(call.number) hangs up")
    call.cancel()
  }

  // MARK: Queries of the laws

  /// The event of this answer, written while its call was in flight (R41).
  func requireEvent(of call: Call, _ kind: String, where isRight: (EventDraft) -> Bool) {
    require(claimEvent(of: call, kind, where: isRight), "R41", Self.isWithout(kind, call))
  }

  /// The event of an answer about a profile. It names none if the store had no record of the profile (R37). Such an
  /// event may be of another profile's call, so one that names this profile goes first.
  func requireEvent(of call: Call, _ kind: String, ofPerhapsUnknown profileID: String, in applicationID: String) {
    let isThere =
      claimEvent(of: call, kind) { $0.isOf(applicationID, profileID) }
      || claimEvent(of: call, kind) { $0.isOf(applicationID, "") }
    require(isThere, "R41", Self.isWithout(kind, call))
  }

  private func claimEvent(of call: Call, _ kind: String, where isRight: (EventDraft) -> Bool) -> Bool {
    database.claimEvent(of: call) { $0.kind == kind && isRight($0) }
  }

  private static func isWithout(_ kind: String, _ call: Call) -> String {
    "call \(call.number) is answered without its event \(kind)"
  }

  /// As it was when the call was taken up.
  func policy(named name: String, at call: Call) -> EvaluationPolicy? {
    call.life.policies.last { $0.step <= call.dispatchedStep ?? 0 }?.policies.first { $0.name == name }
  }

  /// At some time of the call.
  func isInForce(_ policy: EvaluationPolicy, at call: Call) -> Bool {
    let books = call.life.policies
    let first = books.lastIndex { $0.step <= call.dispatchedStep ?? 0 } ?? 0
    return books[first...].contains { $0.policies.contains(policy) }
  }

  /// All the time since the call was taken up.
  func isInForceNow(_ policy: EvaluationPolicy, at call: Call) -> Bool {
    let books = call.life.policies
    return books.last.map { $0.step <= call.sentStep && $0.policies.contains(policy) } ?? false
  }

  /// A read may have been of some time ago, so that an answer without a commit may be, too.
  var hasStaleReads: Bool { database.past != nil }

  // MARK: Without a storm

  /// Nothing fails any more, every clock is ahead of whatever was seen, and the policies are the first ones.
  func calmDown(for rest: Duration) {
    database.calm()
    time.nextStep(passing: rest, jump: time.latest(since: 0) - time.now)
    for replica in replicas { replica.replacePolicies(plan.servedPolicies, at: time.step) }
  }

  func withStillClock(_ body: () -> Void) {
    isClockStill = true
    body()
    isClockStill = false
  }

  func pass(_ duration: Duration) { time.nextStep(passing: duration) }

  /// The same for many at once, in the order of their answers; those that failed are left out.
  func askAll<R: Request>(_ requests: [R]) -> [R.Answer] {
    var answers: [R.Answer] = []
    let calls = requests.compactMap { send($0, then: { answers.append($0) }) }
    proceed { calls.allSatisfy(\.isEnded) || isIdle }
    return answers
  }

  /// Sends, and lets nothing else begin until it is answered. `nil`: it failed.
  ///
  /// - Parameter replica: any if `nil`.
  func ask<R: Request>(_ request: R, of replica: Replica? = nil) -> R.Answer? {
    var answered: R.Answer?
    guard let call = send(request, to: replica, then: { answered = $0 }) else { return nil }
    proceed { call.isEnded || isIdle }
    return answered
  }
}
