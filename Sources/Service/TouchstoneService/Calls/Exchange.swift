// One call in progress, and the way back to its caller.

internal import DispatchRPC
internal import Logging
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The part that all kinds of calls share: an event loop to return to, and a call to refuse.
protocol CallExchange: Sendable {
  var incoming: any IncomingContext { get }
  var admitted: AdmittedCall { get }
}

extension CallExchange {
  var context: LoopContext { admitted.context }
  var caller: Caller { admitted.grants.caller }
  var began: MonotonicTime { admitted.began }
  var trace: CallTrace? { admitted.trace }

  /// The person's language: the call's `accept-language`.
  var language: Language {
    guard let wanted = incoming.metadata("accept-language") else { return .default }
    return Language(acceptLanguage: wanted)
  }

  func refuse(_ error: RequestError) {
    guard error.code != .cancelled else { return }
    context.meters.refusals.count(error)
    trace?.end(error.code)
    incoming.fail(error.rpcError(in: language))
  }

  /// Runs `body` on the call's event loop; now, if it is the current one.
  func onLoop(_ body: @escaping @Sendable () -> Void) {
    let loop: any CallLoop = incoming.loop
    if loop.isCurrent { body() } else { loop.execute(body) }
  }

  /// Runs `body` as a task on the call's event loop, and refuses the call with what it throws. It begins at once.
  func run(_ body: @escaping @Sendable () async throws(RequestError) -> Void) {
    Task.immediate(executorPreference: incoming.loop) {
      do throws(RequestError) { try await body() } catch { refuse(error) }
    }
  }

  /// Waits for the store, and returns on the call's event loop. A failure refuses the call.
  ///
  /// - Parameter permit: ends as soon as the store has answered, however busy the event loop is.
  func value<Value: Sendable>(
    ending permit: StorePermit? = nil, of start: StoreCall<Value>
  ) async throws(RequestError) -> Value {
    let result: Result<Value, StoreError> = await storeResult { completion in
      start { result in
        permit?.end()
        completion(result)
      }
    }
    switch result {
    case .success(let value): return value
    case .failure(let error): throw logged(error)
    }
  }

  /// Waits for the verdict of the checks of this pass of the event loop.
  func verify(_ check: SignatureCheck) async -> Bool {
    let part = begin(.verify)
    defer { part?.end() }
    return await withUnsafeContinuation { continuation in
      context.verifications.add(check) { continuation.resume(returning: $0) }
    }
  }

  /// Waits for the verdict of a check on another thread.
  func verify(_ check: ApartCheck) async -> Bool {
    let part = begin(.verify)
    defer { part?.end() }
    return await withUnsafeContinuation { continuation in
      context.verifications.workers.run(check, on: incoming.loop) { continuation.resume(returning: $0) }
    }
  }

  func logged(_ error: StoreError) -> RequestError {
    context.log(error, rpc: incoming.path)
    return RequestError(error)
  }

  /// Returns `nil` and fails the call if the answer cannot be encoded.
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
  let admitted: AdmittedCall

  var incoming: any IncomingContext { call }

  /// Must be called on the call's event loop.
  func answer(_ response: consuming Response, initialMetadata: Metadata = Metadata()) {
    guard let bytes = encode(response) else { return }
    trace?.end(.ok)
    call.respond(bytes, initialMetadata: initialMetadata)
  }
}

/// A call with several answers, or several messages both ways.
struct StreamExchange<Response: WireMessage>: CallExchange {
  let stream: any IncomingStream
  let admitted: AdmittedCall

  var incoming: any IncomingContext { stream }

  /// Must be called on the call's event loop. False: the answer could not be encoded, and the call has failed.
  @discardableResult
  func send(_ response: consuming Response) -> Bool {
    guard let bytes = encode(response) else { return false }
    stream.send(bytes)
    return true
  }
}
