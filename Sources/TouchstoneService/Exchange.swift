// One RPC in flight: the way back to its caller.

internal import DispatchRPC
internal import Logging
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

/// What calls of all kinds have in common: a shard to come back to, and somebody to refuse.
protocol CallExchange: Sendable {
  var incoming: any IncomingContext { get }
  var context: ShardContext { get }
  var caller: Caller { get }
}

extension CallExchange {
  /// Of the person: the call's `accept-language`.
  var language: Language {
    guard let wanted = incoming.metadata("accept-language") else { return .default }
    return Language(acceptLanguage: wanted)
  }

  func refuse(_ error: RequestError) {
    incoming.fail(error.rpcError(in: language))
  }

  /// Runs on the call's shard: now, if this is it.
  func onShard(_ body: @escaping @Sendable () -> Void) {
    let shard: any CallShard = incoming.shard
    if shard.isCurrent { body() } else { shard.execute(body) }
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

  func logged(_ error: StoreError) -> RequestError {
    context.log(error, rpc: incoming.path)
    return RequestError(error)
  }

  /// `nil`, and the call is failed, where the answer cannot be encoded.
  fileprivate func encode(_ message: consuming some WireMessage) -> [UInt8]? {
    do throws(EncodingError) {
      return try context.coder.encode(message)
    } catch {
      context.logger.error(
        "an answer could not be encoded", metadata: ["rpc": "\(incoming.path)", "error": "\(error)"])
      incoming.fail(RPCError(code: .internalError, message: "the answer could not be encoded"))
      return nil
    }
  }
}

/// A unary call.
struct Exchange<Response: WireMessage>: CallExchange {
  let call: any IncomingCall
  let context: ShardContext
  let caller: Caller

  var incoming: any IncomingContext { call }

  /// Call on the call's shard.
  func answer(_ response: consuming Response) {
    if let bytes = encode(response) { call.respond(bytes) }
  }
}

/// A call with several answers, or several messages both ways.
struct StreamExchange<Response: WireMessage>: CallExchange {
  let stream: any IncomingStream
  let context: ShardContext
  let caller: Caller

  var incoming: any IncomingContext { stream }

  /// Call on the call's shard. False: it could not be encoded, and the call has failed.
  @discardableResult
  func send(_ response: consuming Response) -> Bool {
    guard let bytes = encode(response) else { return false }
    stream.send(bytes)
    return true
  }
}
