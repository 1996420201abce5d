// What a service takes from the machine it runs on: time, chance and threads.

public import TouchstoneCrypto
public import TouchstonePolicy

/// With all of it given by a simulation, one seed always makes the same answers (but for tokens' signatures, see
/// `Randomness`).
public struct ServiceEnvironment: Sendable {
  public typealias Clock = @Sendable () -> UnixTime

  public var clock: Clock
  public var randomness = Randomness.system
  /// Threads that may verify signatures at one time, the shards among them. With one, a shard verifies its own, inside of
  /// `TouchstoneService.wakeUpEnded`.
  public var verificationThreads: Int

  /// - Parameter cores: of the machine.
  public init(cores: Int, clock: @escaping Clock) {
    self.clock = clock
    verificationThreads = cores
  }
}
