import DispatchPool
import DispatchRPC
import Synchronization
import TestSupport
import TouchstoneCodec

@testable import TouchstoneClient

/// A gRPC server in this process whose methods are closures on messages.
final class TestService: Sendable {
  typealias Method<Request, Response> = @Sendable (RPCServerCall, Request) -> Result<Response, RPCError>?

  let server: RPCServer
  let address: SocketAddress

  /// - Parameter address: the address of a service that stopped; `nil`: an address of its own.
  init(
    at address: SocketAddress? = nil, configuration: RPCServerConfiguration = RPCServerConfiguration(),
    _ router: RPCRouter
  ) throws {
    server = RPCServer(configuration: configuration, router: router)
    self.address = try server.listen(host: address?.host ?? .ownLoopbackHost(), port: address?.port ?? 0)
  }

  var target: String { address.description }

  func stop() async {
    await withCheckedContinuation { continuation in
      server.shutDown(grace: .zero) { continuation.resume() }
    }
  }
}

extension RPCRouter {
  /// Answers with what `method` returns; later, or never, where that is `nil`.
  func serving<Request: WireMessage, Response: WireMessage>(
    _ name: String, _ method: @escaping TestService.Method<Request, Response>
  ) -> RPCRouter {
    var router = self
    router.register("/touchstone.v1.\(name)") { call, bytes in
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
    return router
  }

  /// GetBinding, which answers with a binding of the requested id.
  static var echo: RPCRouter {
    RPCRouter().serving("BindingService/GetBinding", respond)
  }

  static func getBinding(
    _ method: @escaping TestService.Method<V1.GetBindingRequest, V1.GetBindingResponse>
  ) -> RPCRouter {
    RPCRouter().serving("BindingService/GetBinding", method)
  }
}

@Sendable func respond(_ call: RPCServerCall, _ request: V1.GetBindingRequest) -> Result<
  V1.GetBindingResponse, RPCError
>? {
  .success(V1.GetBindingResponse(binding: V1.Binding(bindingID: request.bindingID)))
}

extension TouchstoneClient {
  /// With a back-off that a test can wait for, and a deadline that no busy machine reaches.
  convenience init(
    target: String, connections: Int = 1, _ change: (inout TouchstoneClientConfiguration) -> Void = { _ in }
  ) {
    var configuration = TouchstoneClientConfiguration(
      target: target, minimumConnections: connections, maximumConnections: connections)
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
