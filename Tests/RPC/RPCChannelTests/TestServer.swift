import DispatchRPC
import RPCChannel
import Synchronization
import TestSupport

/// A gRPC server in this process, on a loopback address of its own.
final class TestServer: Sendable {
  let server: RPCServer
  let address: SocketAddress
  let held = Box<RPCServerCall>()
  let heldStreams = Box<RPCServerStream>()

  /// - Parameter address: the address of a server that stopped; `nil`: an address of its own.
  init(
    at address: SocketAddress? = nil, _ configuration: RPCServerConfiguration = RPCServerConfiguration(eventLoops: 1),
    adding more: (inout RPCRouter) -> Void = { _ in }
  ) throws {
    var router = RPCRouter()
    router.register("/test/Echo") { call, message in
      call.respond(Array(message), initialMetadata: call.metadata)
    }
    let (held, heldStreams) = (held, heldStreams)
    router.register("/test/Hold") { call, _ in held.put(call) }
    router.registerBidirectional("/test/Chat") { stream in
      stream.request(1)
      return { stream, event in
        switch event {
        case .message(let bytes):
          stream.send(Array(bytes))
          stream.request(1)
        case .end: stream.finish()
        case .writable: break
        }
      }
    }
    router.registerBidirectional("/test/HoldStream") { stream in
      heldStreams.put(stream)
      return { _, _ in }
    }
    more(&router)
    server = RPCServer(configuration: configuration, router: router)
    self.address = try server.listen(host: address?.host ?? .ownLoopbackHost(), port: address?.port ?? 0)
  }

  var target: String { address.description }

  func stop(grace: Duration = .zero) async {
    await withCheckedContinuation { continuation in
      server.shutDown(grace: grace) { continuation.resume() }
    }
  }
}

/// An event that the caller of a stream saw.
enum StreamSighting: Hashable, Sendable {
  case initialMetadata
  case message([UInt8])
  case writable
  case end(Result<Metadata, RPCError>)
}

extension RPCChannel {
  /// A stream whose events can be awaited.
  func openStream(
    _ path: String, _ options: RPCCallOptions = RPCCallOptions()
  ) -> (stream: RPCChannelStream, seen: Box<StreamSighting>) {
    let seen = Box<StreamSighting>()
    let stream = openStream(path, options: options) { _, event in
      switch event {
      case .initialMetadata: seen.put(.initialMetadata)
      case .message(let bytes): seen.put(.message(Array(bytes)))
      case .writable: seen.put(.writable)
      case .end(let result): seen.put(.end(result))
      }
    }
    return (stream, seen)
  }
}

/// The error of a call that must fail.
func failure(_ body: () async throws(RPCError) -> RPCResponse) async -> RPCError? {
  do throws(RPCError) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}
