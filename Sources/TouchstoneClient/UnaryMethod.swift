// One RPC of the service, called like a function: as `async`, or with a completion on a queue.

public import Dispatch
internal import DispatchPool
internal import DispatchRPC
public import TouchstoneCodec

/// An RPC with one request and one answer.
///
/// A call that surely did not reach the service is sent again, within its deadline and twice at most; nothing else is retried.
public struct UnaryMethod<Request: WireMessage, Response: WireMessage>: Sendable {
  let client: TouchstoneClient
  /// "/touchstone.v1.EvaluationService/BeginEvaluation"
  let path: String

  /// Cancelling the task cancels the call, which then throws CANCELLED.
  public func callAsFunction(
    _ request: Request, options: CallOptions = .default
  ) async throws(TouchstoneError) -> Response {
    let call = TouchstoneCall()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(call, with: request, options: options) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      call.cancel()
    }
    return try result.get()
  }

  /// - Parameter completion: runs once, on the queue, never before this returns if the queue is serial and current.
  @discardableResult
  public func callAsFunction(
    _ request: Request, options: CallOptions = .default, queue: DispatchQueue,
    completion: @escaping @Sendable (Result<Response, TouchstoneError>) -> Void
  ) -> TouchstoneCall {
    let call = TouchstoneCall()
    start(call, with: request, options: options) { result in
      queue.async { completion(result) }
    }
    return call
  }

  private func start(
    _ call: TouchstoneCall, with request: Request, options: CallOptions,
    completion: @escaping @Sendable (Result<Response, TouchstoneError>) -> Void
  ) {
    let deadline = MonotonicInstant.now() + (options.timeout ?? client.configuration.defaultTimeout)
    let message: [UInt8]
    do {
      message = try client.requestCoder.encode(request)
    } catch {
      return completion(.failure(TouchstoneError(error)))
    }
    let exchange = Exchange(
      pool: client.pool, call: call,
      request: RPCClientRequest(
        path: path, message: message, metadata: client.metadata(for: options),
        deadline: MonotonicTime(nanoseconds: deadline.nanoseconds)),
      deadline: deadline, waitForReady: options.waitForReady,
      completion: { [coder = client.responseCoder] result in
        completion(result.flatMap { coder.decode(Response.self, from: $0) })
      })
    exchange.start()
  }
}

extension TouchstoneClient {
  /// - Parameter name: "Service/Method".
  func method<Request, Response>(_ name: String) -> UnaryMethod<Request, Response> {
    UnaryMethod(client: self, path: "/touchstone.v1.\(name)")
  }

  fileprivate func metadata(for options: CallOptions) -> Metadata {
    var metadata = configuration.metadata
    if let languages = options.languages { metadata.append("accept-language", languages) }
    for entry in options.metadata.entries {
      switch entry.value {
      case .text(let text): metadata.append(entry.name, text)
      case .binary(let bytes): metadata.append(entry.name, binary: bytes)
      }
    }
    return metadata
  }
}
