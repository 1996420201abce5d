// The resources that a service takes from the machine it runs on: time, chance and threads.

internal import Dispatch
public import DispatchRPC
public import TouchstoneCrypto
package import TouchstoneMetrics
public import TouchstonePolicy
internal import TouchstoneStore

/// With all of it given by a simulation, one seed always makes the same answers (but for tokens' signatures, see
/// `Randomness`).
public struct ServiceEnvironment: Sendable {
  public typealias Clock = @Sendable () -> UnixTime

  public var clock: Clock = systemTime
  /// The clock of the throttles that keep repeated refusals out of the audit log.
  public var monotonicClock: @Sendable () -> MonotonicTime = { .now() }
  public var randomness = Randomness.system
  /// Threads that may verify signatures at one time, the event loops among them. With one, an event loop verifies its
  /// own, inside of `TouchstoneService.roundEnded`.
  public var verificationThreads: Int
  /// The verifier for the signatures of one pass of an event loop.
  public var signatures = BatchVerifier.fastest
  /// The executor that verifies costly signatures one by one; `nil`: threads of the service's own.
  public var costlySignatures: (any SecretExecutor)?
  /// The program's version, which health answers name to callers; `nil`: they do not.
  public var version: String?
  /// The executor that hashes passcodes and gestures, and judges keys' certificates.
  public var secrets: any SecretExecutor
  /// `nil`: Argon2id under the key ring's pepper.
  public var hasher: (any SecretHasher)?
  public var timer: any DelayedExecutor
  /// The handlers count in it.
  package var metrics = MetricRegistry()
  /// `nil`: the lines of decisions go to the logger, as all others.
  package var decisions: (any DecisionLog)?
  /// `nil`: no call is traced.
  package var tracer: CallTracer?

  /// - Parameter cores: the machine's number of cores.
  public init(cores: Int) {
    self.init(
      verificationThreads: cores, secrets: SecretWorkers(threads: max(1, cores / 2)), timer: DispatchTimer())
  }

  public init(verificationThreads: Int, secrets: any SecretExecutor, timer: any DelayedExecutor) {
    self.verificationThreads = verificationThreads
    self.secrets = secrets
    self.timer = timer
  }
}

/// Dispatch's timers, on a queue of their own.
public struct DispatchTimer: DelayedExecutor {
  private let queue = DispatchQueue(label: "touchstone.timer")

  public init() {}

  public func after(_ delay: Duration, _ work: @escaping @Sendable () -> Void) {
    queue.asyncAfter(deadline: .now() + .microseconds(Int(delay.wholeMicroseconds)), execute: work)
  }
}
