public import Dispatch
package import DispatchRPC
internal import RPCChannel
public import TouchstoneCodec

/// An RPC with one request and one answer, called like a function: as `async`, or with a completion on a queue.
///
/// Sends a call again if it surely did not reach the service. If the service could not take a call, or lost it, calls
/// that may happen twice are repeated, twice at most (`RepeatedCalls`). All of this happens within the deadline.
public struct UnaryMethod<Request: WireMessage, Response: WireMessage>: Sendable {
  let client: TouchstoneClient
  /// "/touchstone.v1.EvaluationService/BeginEvaluation"
  let path: String

  /// "BeginEvaluation"
  package var name: String { String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...]) }

  /// Cancelling the task cancels the call, which then throws CANCELLED.
  public func callAsFunction(
    _ request: Request, options: CallOptions = .default
  ) async throws(TouchstoneError) -> Response {
    try await callAsFunction(encoded: encode(request), options: options)
  }

  /// With a request that `encode` has made: what is sent again and again is encoded once.
  package func callAsFunction(
    encoded message: [UInt8], options: CallOptions = .default
  ) async throws(TouchstoneError) -> Response {
    try await answer(to: message, options: options).message
  }

  /// The answer, and the metadata before it.
  package func answer(
    to message: [UInt8], options: CallOptions = .default
  ) async throws(TouchstoneError) -> (message: Response, initialMetadata: Metadata) {
    let answer: RPCResponse
    do throws(RPCError) {
      answer = try await client.channel.call(path, message, options: client.options(options))
    } catch {
      throw TouchstoneError(error)
    }
    return (try client.responseCoder.decode(Response.self, from: answer.message).get(), answer.initialMetadata)
  }

  /// - Parameter completion: runs once, on the queue, never before this returns if the queue is serial and current.
  @discardableResult
  public func callAsFunction(
    _ request: Request, options: CallOptions = .default, queue: DispatchQueue,
    completion: @escaping @Sendable (Result<Response, TouchstoneError>) -> Void
  ) -> TouchstoneCall {
    let message: [UInt8]
    do throws(TouchstoneError) {
      message = try encode(request)
    } catch {
      queue.async { completion(.failure(error)) }
      return TouchstoneCall(call: nil)
    }
    let call = client.channel.call(path, message, options: client.options(options)) { [coder = client.responseCoder] in
      let result = $0.mapError(TouchstoneError.init).flatMap { coder.decode(Response.self, from: $0.message) }
      queue.async { completion(result) }
    }
    return TouchstoneCall(call: call)
  }

  package func encode(_ request: Request) throws(TouchstoneError) -> [UInt8] {
    do throws(EncodingError) {
      return try client.requestCoder.encode(request)
    } catch {
      throw TouchstoneError(error)
    }
  }
}

extension TouchstoneClient {
  func method<Request, Response>(_ method: WireMethod<Request, Response>) -> UnaryMethod<Request, Response> {
    precondition(method.descriptor.kind == .unary, "\(method.path) streams")
    return UnaryMethod(client: self, path: method.path)
  }

  fileprivate func options(_ options: CallOptions) -> RPCCallOptions {
    RPCCallOptions(
      timeout: options.timeout ?? configuration.defaultTimeout, waitForReady: options.waitForReady,
      metadata: metadata(for: options))
  }

  /// A stream has no time limit unless its own options set one.
  func streamOptions(_ options: CallOptions) -> RPCCallOptions {
    RPCCallOptions(
      timeout: options.timeout, waitForReady: options.waitForReady, metadata: metadata(for: options))
  }

  private func metadata(for options: CallOptions) -> Metadata {
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

/// A running call, to cancel it.
public struct TouchstoneCall: Sendable {
  /// `nil`: its request could not be encoded, and the call has ended.
  let call: RPCChannelCall?

  /// Ends the call with CANCELLED, unless it ends otherwise at the same time. The service gets the cancellation.
  public func cancel() {
    call?.cancel()
  }
}
