// The counters of the handlers, and those of one policy's evaluations.

internal import DispatchRPC
internal import TouchstoneMetrics
internal import TouchstonePolicy
internal import TouchstoneStore

/// The counters of one service, made with it. The labels' values are the cases of enums and reasons that stand in the
/// code: no text of a caller is one. One reference, for the way of each call.
final class ServiceMeters: Sendable {
  enum Lock: String, CaseIterable, Sendable {
    case device, passcode, gesture

    /// - Parameter secret: passcode or gesture.
    init(_ secret: Factor) { self = secret == .gesture ? .gesture : .passcode }
  }
  enum Revocation: String, CaseIterable, Sendable { case requested, replaced }
  enum Introspection: String, CaseIterable, Sendable { case active, inactive }
  enum ContextRefusal: String, CaseIterable, Sendable {
    case unknown, expired
    case policyChanged = "policy_changed"
  }

  let lockouts: CounterTable<Lock>
  let denials: CounterTable<Denial.Reason>
  let contextRefusals: CounterTable<ContextRefusal>
  let verdictsOfBegin: CounterTable<DomainStateVerdict>
  let verdictsOfAttempts: CounterTable<DomainStateVerdict>
  let bindingsCreated: CounterTable<ProofLevel>
  let bindingsRevoked: CounterTable<Revocation>
  let introspections: CounterTable<Introspection>
  let callerRefusals: CounterTable<AccessRefusal>
  let oldSecrets: CounterTable<OldSecret>
  /// The answers of ConsumeToken; `nil`: the token was consumed.
  let consumptions: CounterTable<TokenRefusal?>
  let refusals: RefusalMeters
  let store: StoreMeters
  private let sharedDevices: Counter
  private let eventsSuppressed: Counter
  private let secretHash: Histogram

  init(_ metrics: MetricRegistry) {
    lockouts = CounterTable(.lockouts, of: metrics) { $0.rawValue }
    denials = CounterTable(.evaluationDenials, of: metrics) { $0.rawValue }
    contextRefusals = CounterTable(.contextRefusals, of: metrics) { $0.rawValue }
    func verdicts(_ call: String) -> CounterTable<DomainStateVerdict> {
      CounterTable(DomainStateVerdict.allCases) { metrics.counter(.domainStateVerdicts, call, $0.metricName) }
    }
    verdictsOfBegin = verdicts("begin")
    verdictsOfAttempts = verdicts("attempt")
    bindingsCreated = CounterTable(.bindingsCreated, of: metrics) { $0.name }
    bindingsRevoked = CounterTable(.bindingsRevoked, of: metrics) { $0.rawValue }
    introspections = CounterTable(.tokenIntrospections, of: metrics) { $0.rawValue }
    callerRefusals = CounterTable(.callerRefusals, of: metrics) { $0.rawValue }
    oldSecrets = CounterTable(OldSecret.all) {
      metrics.counter(.oldSecretChecks, $0.factor.settingName, $0.isRight ? "right" : "wrong")
    }
    consumptions = CounterTable([nil] + TokenRefusal.allCases.map(Optional.some)) {
      metrics.counter(.tokenConsumptions, $0?.rawValue ?? "CONSUMED")
    }
    refusals = RefusalMeters(metrics)
    store = StoreMeters(metrics)
    sharedDevices = metrics.counter(.sharedDevices)
    eventsSuppressed = metrics.counter(.eventsSuppressed)
    secretHash = metrics.histogram(.secretHashDuration)
  }

  func foundSharedDevice() {
    sharedDevices.increment()
  }

  func leftOutEvent() {
    eventsSuppressed.increment()
  }

  /// A worker verified a secret, or made its verifier.
  func hashed(since began: MonotonicTime) {
    secretHash.record((MonotonicTime.now() - began).wholeNanoseconds)
  }
}

/// The old secret by which SetSecret or RemoveSecret is called: guesses at it are in no attempt's counter.
struct OldSecret: Hashable {
  /// Passcode or gesture.
  var factor: Factor
  var isRight: Bool

  fileprivate static let all = [Factor.passcode, .gesture].flatMap { factor in
    [true, false].map { OldSecret(factor: factor, isRight: $0) }
  }
}

/// Refused calls, by the reason in ErrorInfo, or by the status.
struct RefusalMeters: Sendable {
  private let reasons: [String: Counter]
  /// By the status's number.
  private let statuses: [Counter]

  init(_ metrics: MetricRegistry) {
    let names = Set(RequestError.Reason.counted + Denial.Reason.allCases.map(\.rawValue))
    reasons = Dictionary(uniqueKeysWithValues: names.sorted().map { ($0, metrics.counter(.refusals, $0)) })
    let statuses = (0...RPCCode.unauthenticated.rawValue).map { RPCCode(rawValue: $0).description }
    // NOT_FOUND is a reason, too, and means the same.
    self.statuses = statuses.map { metrics.counter(.refusals, $0) }
  }

  func count(_ error: RequestError) {
    if let reason = error.reason, let counter = reasons[reason] { return counter.increment() }
    let code = Int(error.code.rawValue)
    statuses[statuses.indices.contains(code) ? code : Int(RPCCode.unknown.rawValue)].increment()
  }
}

/// The store as the handlers see it.
struct StoreMeters: Sendable {
  private let latency: Histogram
  private let conflicts: Counter
  private let failures: CounterTable<StoreError.Code>

  init(_ metrics: MetricRegistry) {
    latency = metrics.histogram(.storeLatency)
    conflicts = metrics.counter(.storeConflicts)
    failures = CounterTable([StoreError.Code.unavailable, .inDoubt, .corrupt]) {
      metrics.counter(.storeFailures, $0.metricName)
    }
  }

  func committed(since began: MonotonicTime) {
    latency.record((MonotonicTime.now() - began).wholeNanoseconds)
  }

  func failed(_ code: StoreError.Code) {
    if code == .conflict { conflicts.increment() } else { failures.count(code) }
  }
}

extension StoreError.Code {
  fileprivate var metricName: String {
    switch self {
    case .conflict: "conflict"
    case .unavailable: "unavailable"
    case .inDoubt: "in_doubt"
    case .corrupt: "corrupt"
    }
  }
}

extension DomainStateVerdict {
  fileprivate var metricName: String {
    switch self {
    case .neverRecorded: "never_recorded"
    case .unchanged: "unchanged"
    case .unknownWhileLocked: "unknown_while_locked"
    case .changed: "changed"
    case .changedWithOS: "changed_with_os"
    }
  }
}

/// A policy's counters, made when the policy is configured. They hang on the policy's entry, so that an attempt looks
/// up none.
struct PolicyMeters: Sendable {
  enum Result: String, CaseIterable, Sendable {
    case opened
    case denied
    case invalidated
  }

  private let results: [Counter]
  /// By factor, then by outcome.
  private let attempts: [[Counter]]

  init(_ policy: EvaluationPolicy, _ metrics: MetricRegistry) {
    results = Result.allCases.map { metrics.counter(.evaluations, policy.name, $0.rawValue) }
    func outcomes(_ factor: String) -> [Counter] {
      Outcome.allCases.map { metrics.counter(.attempts, policy.name, factor, $0.metricName) }
    }
    let others = outcomes("other")
    let ofFactors = Factor.allCases.map { policy.factors.contains($0) ? outcomes($0.settingName) : others }
    // A factor's raw value is its place; 0 is none.
    attempts = [outcomes("none")] + ofFactors
  }

  func count(_ result: Result) {
    switch result {
    case .opened: results[0].increment()
    case .denied: results[1].increment()
    case .invalidated: results[2].increment()
    }
  }

  /// - Parameter factor: `nil` for a report of the device.
  func count(attemptBy factor: Factor?, _ outcome: Outcome) {
    attempts[Int(factor?.rawValue ?? 0)][Int(outcome.rawValue) - 1].increment()
  }
}

extension Outcome {
  fileprivate var metricName: String {
    switch self {
    case .succeeded: "succeeded"
    case .tryAgain: "try_again"
    case .failed: "failed"
    case .canceled: "canceled"
    case .fallback: "fallback"
    case .lockedOut: "locked_out"
    case .factorRequired: "factor_required"
    case .invalidContext: "invalid_context"
    }
  }
}

/// One counter for each case, made at once, so that each series is there from the start.
struct CounterTable<Key: Hashable & Sendable>: Sendable {
  private let counters: [Key: Counter]

  /// - Parameter counter: makes a case's counter.
  init(_ keys: some Sequence<Key>, counter: (Key) -> Counter) {
    counters = Dictionary(uniqueKeysWithValues: keys.map { ($0, counter($0)) })
  }

  func count(_ key: Key) {
    counters[key]?.increment()
  }
}

extension CounterTable where Key: CaseIterable {
  /// For a family with one label.
  ///
  /// - Parameter name: the label's value.
  init(_ family: MetricFamily, of metrics: MetricRegistry, name: (Key) -> String) {
    self.init(Key.allCases) { metrics.counter(family, name($0)) }
  }
}
