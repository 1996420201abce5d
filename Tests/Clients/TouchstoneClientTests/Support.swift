import DispatchRPC
import TouchstoneCodec

@testable import TouchstoneClient

extension RPCRouter {
  typealias Method<Request, Response> = @Sendable (RPCServerCall, Request) -> Result<Response, RPCError>?

  /// Answers with what `method` returns; later, or never, if that is `nil`.
  mutating func serve<Request: WireMessage, Response: WireMessage>(
    _ name: String, _ method: @escaping Method<Request, Response>
  ) {
    register("/touchstone.v1.\(name)") { call, bytes in
      do {
        let request = try Request.decoded(from: Array(bytes))
        switch method(call, request) {
        case .success(let response): call.respond(try response.encoded())
        case .failure(let error): call.fail(error)
        case nil: break
        }
      } catch {
        call.fail(RPCError(code: .internalError, message: "\(error)"))
      }
    }
  }

  mutating func getBinding(_ method: @escaping Method<V1.GetBindingRequest, V1.GetBindingResponse> = respond) {
    serve("BindingService/GetBinding", method)
  }
}

/// Answers with a binding of the requested id.
@Sendable func respond(_ call: RPCServerCall, _ request: V1.GetBindingRequest) -> Result<
  V1.GetBindingResponse, RPCError
>? {
  .success(V1.GetBindingResponse(binding: V1.Binding(bindingID: request.bindingID)))
}

extension TouchstoneClient {
  /// With a back-off that a test can wait for, and a deadline that no busy machine reaches.
  convenience init(
    target: String, _ change: (inout TouchstoneClientConfiguration) -> Void = { _ in }
  ) {
    var configuration = TouchstoneClientConfiguration(target: target, maximumConnections: 1)
    configuration.backoff.initialDelay = .milliseconds(2)
    configuration.defaultTimeout = .seconds(3_600)
    change(&configuration)
    self.init(configuration: configuration)
  }

  /// Returns the binding id that `echo` answers with.
  func bindingID(echoing id: String, options: CallOptions = .default) async throws(TouchstoneError) -> String? {
    try await getBinding(V1.GetBindingRequest(bindingID: id), options: options).binding?.bindingID
  }
}

/// The error of a call that must fail.
func failure<Value>(_ call: () async throws(TouchstoneError) -> Value) async -> TouchstoneError? {
  do throws(TouchstoneError) {
    _ = try await call()
    return nil
  } catch {
    return error
  }
}
