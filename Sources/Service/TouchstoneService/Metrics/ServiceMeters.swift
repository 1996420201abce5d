// The counters of the handlers, apart from those that belong to one policy.

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
  let oldSecrets: OldSecretMeters
  let consumptions: ConsumptionMeters
  let refusals: RefusalMeters
  let store: StoreMeters
  private let sharedDevices: Counter
  private let eventsSuppressed: Counter
  private let secretHash: Histogram

  init(_ metrics: MetricRegistry) {
    lockouts = CounterTable(.lockouts, of: metrics) { $0.rawValue }
    denials = CounterTable(.evaluationDenials, of: metrics) { $0.rawValue }
    contextRefusals = CounterTable(.contextRefusals, of: metrics) { $0.rawValue }
    verdictsOfBegin = Self.verdicts("begin", metrics)
    verdictsOfAttempts = Self.verdicts("attempt", metrics)
    bindingsCreated = CounterTable(.bindingsCreated, of: metrics) { $0.name }
    bindingsRevoked = CounterTable(.bindingsRevoked, of: metrics) { $0.rawValue }
    introspections = CounterTable(.tokenIntrospections, of: metrics) { $0.rawValue }
    callerRefusals = CounterTable(.callerRefusals, of: metrics) { $0.rawValue }
    oldSecrets = OldSecretMeters(metrics)
    consumptions = ConsumptionMeters(metrics)
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

  private static func verdicts(_ call: String, _ metrics: MetricRegistry) -> CounterTable<DomainStateVerdict> {
    CounterTable(DomainStateVerdict.allCases) { metrics.counter(.domainStateVerdicts, call, $0.metricName) }
  }
}

/// The old secrets by which SetSecret and RemoveSecret are called: guesses at them are in no attempt's counter.
struct OldSecretMeters: Sendable {
  enum Result: String, CaseIterable, Sendable { case right, wrong }

  private let passcodes: CounterTable<Result>
  private let gestures: CounterTable<Result>

  init(_ metrics: MetricRegistry) {
    func table(_ factor: Factor) -> CounterTable<Result> {
      CounterTable(Result.allCases) { metrics.counter(.oldSecretChecks, factor.settingName, $0.rawValue) }
    }
    (passcodes, gestures) = (table(.passcode), table(.gesture))
  }

  /// - Parameter factor: passcode or gesture.
  func count(_ result: Result, of factor: Factor) {
    (factor == .gesture ? gestures : passcodes).count(result)
  }
}

/// The answers of ConsumeToken.
struct ConsumptionMeters: Sendable {
  private let consumed: Counter
  private let refused: CounterTable<TokenRefusal>

  init(_ metrics: MetricRegistry) {
    consumed = metrics.counter(.tokenConsumptions, "CONSUMED")
    refused = CounterTable(.tokenConsumptions, of: metrics) { $0.rawValue }
  }

  /// - Parameter refusal: `nil`: the token was consumed.
  func count(_ refusal: TokenRefusal?) {
    guard let refusal else { return consumed.increment() }
    refused.count(refusal)
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
