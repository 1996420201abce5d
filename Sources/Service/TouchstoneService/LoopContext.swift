// The state of one event loop of the RPC server: its codec and the signatures it is about to verify.

internal import DispatchRPC
internal import Logging
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstoneMetrics
internal import TouchstoneStore
internal import TouchstoneTraces

/// One per event loop, and used on that loop alone.
///
/// `@unchecked Sendable`: the guard is the loop's serial queue. Every function here is called on it.
final class LoopContext: @unchecked Sendable {
  let coder = MessageCoder()
  let verifications: VerificationBatch
  let logger: Logger
  let decisions: (any DecisionLog)?
  let meters: ServiceMeters
  private let health: Health
  private var storeFailures = LogThrottle<StoreFailure>()
  var cryptoFailures = LogThrottle<CryptoError.Code>()
  var traceIDs = TraceIDGenerator()

  init(
    workers: VerificationWorkers, logger: Logger, decisions: (any DecisionLog)? = nil, health: Health,
    meters: ServiceMeters = ServiceMeters(MetricRegistry())
  ) {
    self.verifications = VerificationBatch(workers: workers)
    self.logger = logger
    self.decisions = decisions
    self.meters = meters
    self.health = health
  }

  /// A conflict is the callers' own doing; all else is for the operator.
  func log(_ error: StoreError, rpc path: String) {
    guard error.code != .conflict else { return }
    meters.store.failed(error.code)
    health.storeFailed()
    let kind = StoreFailure(code: error.code, remedy: error.remedy)
    guard let suppressed = storeFailures.admit(kind, at: .now()) else { return }
    logger.error(
      "the store failed", metadata: ["rpc": "\(path)", "error": "\(error.message)", "suppressed": "\(suppressed)"])
  }
}

/// A line that says what the operator has to do is never kept back for one that says only what failed.
private struct StoreFailure: Hashable {
  var code: StoreError.Code
  var remedy: StoreError.Remedy?
}

/// A caller, by its name in the configuration.
struct Caller: Sendable, Hashable {
  var identity: String

  static let local = Caller(identity: "local")
}
