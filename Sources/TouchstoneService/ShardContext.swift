// What one shard of the RPC server owns: its codec and the signatures it is about to verify.

internal import Logging
internal import TouchstoneCodec

/// One per shard, and used on that shard alone.
///
/// `@unchecked Sendable`: the guard is the shard's serial queue. Every function here is called on it.
final class ShardContext: @unchecked Sendable {
  let coder = MessageCoder()
  let verifications: VerificationBatch
  let logger: Logger
  var storeFailures = LogThrottle()
  var cryptoFailures = LogThrottle()

  init(workers: VerificationWorkers, logger: Logger) {
    self.verifications = VerificationBatch(workers: workers)
    self.logger = logger
  }
}

/// Who calls. Without TLS nobody says who they are: whoever reaches the port is `local`.
struct Caller: Sendable, Hashable {
  var identity: String

  static let local = Caller(identity: "local")
}
