internal import Dispatch
internal import Synchronization

/// A simulated iPhone for tests, demonstrations and load: sensor, passcode, keys, prompts, and a person in front of it.
/// Thread-safe.
///
/// ```swift
/// let phone = SimulatedPhone(passcode: "2580", enrolled: ["right thumb"])
/// let key = try phone.makeKey(protection: .biometryCurrentSet, application: "com.example.shop")
/// let signature = try phone.sign(challenge, with: key, presenting: .finger("right thumb"))
/// ```
///
/// A wrong finger counts against the phone, whichever app prompted. The fifth in a row locks the sensor until the right
/// passcode. The fifth wrong passcode in a row locks the passcode, at first for a minute.
public final class SimulatedPhone: Sendable {
  private struct Core {
    var state: PhoneState
    var person: Person
    var recipients: [EvaluationID: Recipient] = [:]
    /// The prompt that watchers saw last; two evaluations may look the same.
    var shown: Shown?
    var watchers: [Int: AsyncStream<Prompt>.Continuation] = [:]
    var watchersBegun = 0
  }

  private struct Shown: Equatable {
    let evaluation: EvaluationID?
    let prompt: Prompt
  }

  /// The receiver of an evaluation's result.
  private enum Recipient {
    case reply(Reply)
    case waiter(Waiter)
  }

  /// Told once how an evaluation ended.
  public typealias Reply = @Sendable (Result<Authentication, Failure>) -> Void

  private let core: Mutex<Core>
  private let clock: @Sendable () -> Duration

  /// - Parameters:
  ///   - deviceModel: as in `uname`; "iPhone10,4" is an iPhone 8.
  ///   - enrolled: names of fingers, at most five, or of faces, at most two.
  ///   - seed: makes keys and domain states reproducible; `nil`: the system's randomness. Signatures always differ.
  ///   - clock: time since any fixed point, never running backwards.
  public init(
    deviceModel: String = "iPhone10,4", biometryType: BiometryType = .touchID, osVersion: OSVersion = OSVersion(16),
    passcode: String? = nil, enrolled: Set<String> = [], person: Person = .absent, seed: UInt64? = nil,
    clock: @escaping @Sendable () -> Duration = SimulatedPhone.systemClock()
  ) {
    let capacity = PhoneState.enrollmentCapacity(of: biometryType)
    precondition(enrolled.count <= capacity, "the sensor has room for \(capacity), not for \(enrolled.count)")
    let state = PhoneState(
      deviceModel: deviceModel, biometryType: biometryType, osVersion: osVersion, passcode: passcode,
      enrolled: enrolled, randomness: PhoneRandomness(seed: seed))
    self.core = Mutex(Core(state: state, person: person))
    self.clock = clock
  }

  /// The time since the call; it also runs while the machine sleeps.
  public static func systemClock() -> @Sendable () -> Duration {
    let origin = ContinuousClock.now
    return { origin.duration(to: .now) }
  }
}

// Settings.
extension SimulatedPhone {
  public var biometryType: BiometryType { read { state, _ in state.biometryType } }

  public var osVersion: OSVersion { read { state, _ in state.osVersion } }

  /// Fingers or faces, by name.
  public var enrolled: Set<String> { read { state, _ in state.enrolled } }

  /// The person that answers prompts, beginning with the one on the screen.
  public func setPerson(_ person: Person) {
    transition { core, _ in core.person = person }
  }

  /// If this changes anything, keys and items of `biometryCurrentSet` are gone.
  /// - Returns: `false` if this finger or face is enrolled already or the sensor has no room for another.
  @discardableResult
  public func enroll(_ name: String) -> Bool {
    transition { core, _ in core.state.enroll(name) }
  }

  /// If this changes anything, keys and items of `biometryCurrentSet` are gone.
  /// - Returns: `false` if no such finger or face was enrolled.
  @discardableResult
  public func remove(_ name: String) -> Bool {
    transition { core, _ in core.state.remove(name) }
  }

  /// Sets, changes or (`nil`) removes the passcode. Keys and items with an access control go with it.
  public func setPasscode(_ passcode: String?) {
    transition { core, _ in core.state.setPasscode(passcode) }
  }

  public func setSensor(_ condition: SensorCondition) {
    transition { core, _ in core.state.sensor = condition }
  }

  /// The switch that iOS keeps for each app that used Face ID; on until the person switches it off. Touch ID has none.
  public func setFaceID(isAllowed: Bool, for application: String) {
    transition { core, _ in core.state.setFaceID(isAllowed: isAllowed, for: application) }
  }

  /// - Parameter rewritingDomainState: the new OS computes the domain state in another way, as some have done.
  public func upgrade(to version: OSVersion, rewritingDomainState: Bool = false) {
    transition { core, _ in core.state.upgrade(to: version, rewritingDomainState: rewritingDomainState) }
  }
}

// Queries of an app that need no prompt.
extension SimulatedPhone {
  /// `canEvaluatePolicy`: `nil` if the policy can be evaluated.
  /// - Parameter application: `nil`: one that may use the sensor.
  public func obstacle(to policy: Policy, for application: String? = nil) -> Failure? {
    read { state, _ in state.obstacle(to: policy, for: application) }
  }

  /// 32 bytes; `nil` if the phone gives none: nothing enrolled, sensor unusable or locked, or before iOS 9.
  public func domainState(for application: String) -> [UInt8]? {
    read { state, _ in state.domainState(for: application) }
  }

  public func report(for application: String) -> Report {
    read { state, _ in state.report(for: application) }
  }
}

// Evaluations.
extension SimulatedPhone {
  /// `evaluatePolicy`: prompts if needed. The screen has room for one prompt: an earlier one ends with `systemCancel`,
  /// whichever app's it was.
  /// - Parameter reply: called once, on a queue of the phone's own; that may be before this returns.
  /// - Returns: the value for `cancel(_:)`; `nil` if it was decided without a prompt.
  @discardableResult
  public func evaluate(_ request: EvaluationRequest, reply: @escaping Reply) -> EvaluationID? {
    begin(request, for: .reply(reply))
  }

  /// The same for callers that block. Their own thread takes the result and no other is needed, so callers on all
  /// threads of a pool do not wait for each other. Blocks as long as the prompt stands.
  /// - Parameter begun: gets the evaluation's id before the call blocks, `nil` if it was decided without a prompt.
  public func evaluateAndWait(
    _ request: EvaluationRequest, begun: (EvaluationID?) -> Void = { _ in }
  ) -> Result<Authentication, Failure> {
    let waiter = Waiter()
    begun(begin(request, for: .waiter(waiter)))
    return waiter.wait()
  }

  private func begin(_ request: EvaluationRequest, for recipient: Recipient) -> EvaluationID? {
    transition { core, now in
      switch core.state.begin(request, at: now) {
      case .ended(let result):
        deliver(result, to: recipient)
        return nil
      case .open(let id, let replaced):
        core.recipients[id] = recipient
        if let replaced { deliver(replaced, of: &core) }
        return id
      }
    }
  }

  /// The app cancels its request, which ends with `appCancel`, unless it had ended.
  public func cancel(_ evaluation: EvaluationID) {
    transition { core, _ in
      if let ending = core.state.cancel(evaluation, .appCancel) { deliver(ending, of: &core) }
    }
  }

  /// The prompt on the screen.
  public var prompt: Prompt? { read { state, now in state.prompt(at: now) } }

  /// The prompt on the screen, as soon as there is one, and every change to it: for tests that act when it comes.
  public var prompts: AsyncStream<Prompt> {
    AsyncStream { continuation in
      let number = core.withLock { core in
        core.watchersBegun += 1
        core.watchers[core.watchersBegun] = continuation
        if let shown = core.shown { continuation.yield(shown.prompt) }
        return core.watchersBegun
      }
      continuation.onTermination = { [weak self] _ in
        self?.core.withLock { core in _ = core.watchers.removeValue(forKey: number) }
      }
    }
  }

  /// Performs an action at the prompt on the screen.
  @discardableResult
  public func perform(_ action: PersonAction) -> Reaction {
    transition { core, now in
      switch core.state.act(action, at: now) {
      case .ignored: return .nothing
      case .prompting(let prompt): return .prompting(prompt)
      case .ended(let ending):
        deliver(ending, of: &core)
        return .ended(ending.result.map(\.factor))
      }
    }
  }

  /// Touches the sensor while a prompt asks for it.
  @discardableResult
  public func touch(_ finger: String) -> Reaction {
    perform(.present(.finger(finger)))
  }

  /// An attempt at the lock screen. A right passcode opens the biometric lock.
  @discardableResult
  public func unlock(presenting presentation: Presentation) -> Result<Factor, Failure> {
    transition { core, now in core.state.unlock(presentation, at: now) }
  }
}

// Keys.
extension SimulatedPhone {
  /// - Throws: `passcodeNotSet`; `biometryNotEnrolled` for `biometryCurrentSet`.
  public func makeKey(protection: KeyProtection, application: String) throws(Failure) -> Key {
    try makeKey(accessControl: AccessControl(protection), application: application)
  }

  /// - Throws: `passcodeNotSet` and `biometryNotEnrolled`, if no person could ever open it.
  public func makeKey(accessControl: AccessControl, application: String) throws(Failure) -> Key {
    try transition { core, _ in core.state.makeKey(accessControl, application: application) }.get()
  }

  public func deleteKey(_ key: Key) {
    transition { core, _ in core.state.deleteKey(key) }
  }

  /// Signs if this one attempt succeeds; a wrong one counts.
  /// - Returns: ECDSA with SHA-256, as DER.
  public func sign(
    _ message: [UInt8], with key: Key, presenting presentation: Presentation
  ) throws(SigningError) -> [UInt8] {
    try transition { core, now in core.state.open(key, presenting: presentation, at: now) }.get().sign(message)
  }

  /// Signs for the person who just authenticated, in the same app on this phone.
  /// - Returns: ECDSA with SHA-256, as DER.
  public func sign(
    _ message: [UInt8], with key: Key, after authentications: [Authentication]
  ) throws(SigningError) -> [UInt8] {
    try unlocked(key, after: authentications).sign(message)
  }

  /// The key itself, for the person who just authenticated, in the same app on this phone. For the rest of this
  /// package, which uses it and does not keep it.
  package func unlocked(
    _ key: Key, after authentications: [Authentication]
  ) throws(SigningError) -> SoftwareKey {
    try read { state, _ in state.open(key, after: authentications) }.get()
  }

  /// Returns the policy that must still succeed before the key signs; `nil`: none, or there is no such key.
  public func demand(of key: Key, after authentications: [Authentication]) -> Policy? {
    read { state, _ in state.demand(of: key, after: authentications) }
  }
}

// Access controls without a key or an item.
extension SimulatedPhone {
  /// Returns the policy that must still succeed before `accessControl` opens to `application`; `nil`: none.
  public func demand(
    of accessControl: AccessControl, after authentications: [Authentication], application: String
  ) -> Policy? {
    read { state, _ in
      let proven = state.proven(by: authentications, to: application)
      return AccessGuard(accessControl).demand(after: proven).map(Policy.init)
    }
  }
}

// The keychain: every app sees its own.
extension SimulatedPhone {
  /// - Parameters:
  ///   - itemClass: `kSecClass`, which no query crosses.
  ///   - identity: the names of the attributes that distinguish items of one class.
  public func addItem(
    _ itemClass: String, _ attributes: KeychainItem.Attributes, identity: Set<String>, content: KeychainContent,
    application: String
  ) throws(KeychainError) -> KeychainItem {
    try transition { core, _ in
      core.state.addItem(itemClass, attributes, identity: identity, content: content, application: application)
    }.get()
  }

  /// In the order in which they were added.
  /// - Parameter query: empty: all of the class.
  public func items(
    _ itemClass: String, matching query: KeychainItem.Attributes, application: String
  ) -> [KeychainItem] {
    read { state, _ in state.items(itemClass, matching: query, application: application) }
  }

  /// The item's data, for the person who just authenticated in the same app on this phone; empty if it is a key.
  public func data(
    of item: KeychainItem, after authentications: [Authentication]
  ) throws(KeychainError) -> [UInt8] {
    try read { state, _ in state.open(item.id, after: authentications) }.get()
  }

  /// Returns the policy that must still succeed before the item opens; `nil`: none, or there is no such item.
  public func demand(of item: KeychainItem, after authentications: [Authentication]) -> Policy? {
    read { state, _ in state.demand(of: item.id, after: authentications) }
  }

  /// - Parameter identity: as for `addItem`.
  /// - Throws: `duplicateItem` if another item has that name; `notAuthenticated` if no person could ever open the item
  ///   again. Then nothing is changed.
  public func updateItem(
    _ item: KeychainItem, _ changes: KeychainChanges, identity: Set<String>
  ) throws(KeychainError) {
    try transition { core, _ in core.state.updateItem(item.id, changes, identity: identity) }.get()
  }

  /// Shows no prompt, as on a phone. A key goes with its item.
  public func deleteItem(_ item: KeychainItem) {
    transition { core, _ in core.state.deleteItem(item.id) }
  }
}

// The shell: lock, transition, let the person act, unlock. Replies run on their own queues, so none runs under the
// lock.
extension SimulatedPhone {
  private func read<Value: Sendable>(_ body: (PhoneState, Duration) -> Value) -> Value {
    let now = clock()
    return core.withLock { core in body(core.state, now) }
  }

  private func transition<Value: Sendable>(_ body: (inout Core, Duration) -> Value) -> Value {
    let now = clock()
    return core.withLock { core in
      let value = body(&core, now)
      settle(&core, at: now)
      show(&core, at: now)
      return value
    }
  }

  /// Continues until the screen is empty or the person leaves the prompt. This ends, because a person performs only
  /// actions that a prompt accepts, and each of them uses up an attempt, changes the sheet or ends the evaluation.
  private func settle(_ core: inout Core, at now: Duration) {
    while true {
      if let ending = core.state.endIfOver(at: now) {
        deliver(ending, of: &core)
        continue
      }
      guard let prompt = core.state.prompt(at: now), let action = core.person.nextAction(at: prompt) else { return }
      if case .ended(let ending) = core.state.act(action, at: now) { deliver(ending, of: &core) }
    }
  }

  private func show(_ core: inout Core, at now: Duration) {
    let shown = core.state.prompt(at: now).map { Shown(evaluation: core.state.evaluation?.id, prompt: $0) }
    guard shown != core.shown else { return }
    core.shown = shown
    if let shown { core.watchers.values.forEach { $0.yield(shown.prompt) } }
  }

  private func deliver(_ ending: PhoneState.Ending, of core: inout Core) {
    guard let recipient = core.recipients.removeValue(forKey: ending.id) else { return }
    deliver(ending.result, to: recipient)
  }

  private func deliver(_ result: Result<Authentication, Failure>, to recipient: Recipient) {
    switch recipient {
    case .reply(let reply): replying { reply(result) }
    case .waiter(let waiter): waiter.finish(result)
    }
  }
}

/// Passes its result to an app, off the caller's thread. Each reply has its own serial queue, so a blocking reply
/// delays no other. Dispatch gives such queues a thread even if blocked callers hold all of the pool's.
package func replying(_ body: @escaping @Sendable () -> Void) {
  DispatchQueue(label: "LocalAuthentication.reply").async(execute: body)
}

/// A caller that blocks until an evaluation has ended. `finish` runs none of the app's code, so it may be called under
/// the lock.
private final class Waiter: Sendable {
  private let finished = DispatchSemaphore(value: 0)
  private let result = Mutex<Result<SimulatedPhone.Authentication, SimulatedPhone.Failure>?>(nil)

  func finish(_ result: Result<SimulatedPhone.Authentication, SimulatedPhone.Failure>) {
    self.result.withLock { $0 = result }
    finished.signal()
  }

  func wait() -> Result<SimulatedPhone.Authentication, SimulatedPhone.Failure> {
    finished.wait()
    guard let result = result.withLock({ $0 }) else { preconditionFailure("an evaluation ended without a result") }
    return result
  }
}
