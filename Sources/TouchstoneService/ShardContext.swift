// What one shard of the RPC server owns: its codec and the signatures it is about to verify.

internal import DispatchRPC
internal import Logging
internal import TouchstoneCodec
internal import TouchstoneStore

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

/// One RPC in flight: the way back to its caller.
struct Exchange<Response: WireMessage>: Sendable {
  let call: any IncomingCall
  let context: ShardContext
  let caller: Caller

  /// Call on the call's shard.
  func answer(_ response: Response) {
    do throws(EncodingError) {
      call.respond(try context.coder.encode(response))
    } catch {
      context.logger.error("an answer could not be encoded", metadata: ["rpc": "\(call.path)", "error": "\(error)"])
      call.fail(RPCError(code: .internalError, message: "the answer could not be encoded"))
    }
  }

  func refuse(_ error: RequestError) {
    call.fail(error.rpcError(in: language))
  }

  /// Runs on the call's shard: now, if this is it.
  func onShard(_ body: @escaping @Sendable () -> Void) {
    if call.shard.isCurrent { body() } else { call.shard.execute(body) }
  }

  /// A completion for the store: brings its value back to the shard, or refuses the call.
  func then<Value: Sendable>(
    _ body: @escaping @Sendable (Value) throws(RequestError) -> Void
  ) -> @Sendable (Result<Value, StoreError>) -> Void {
    { result in
      onShard {
        do throws(RequestError) {
          switch result {
          case .success(let value): try body(value)
          case .failure(let error): throw logged(error)
          }
        } catch {
          refuse(error)
        }
      }
    }
  }

  /// A conflict is the callers' own doing; all else is for the operator.
  func logged(_ error: StoreError) -> RequestError {
    if error.code != .conflict, let suppressed = context.storeFailures.admit(at: .now()) {
      context.logger.error(
        "the store failed",
        metadata: ["rpc": "\(call.path)", "error": "\(error.message)", "suppressed": "\(suppressed)"])
    }
    return RequestError(error)
  }
}
