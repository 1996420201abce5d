// grpc.testing.TestService on DispatchRPC, for other implementations' clients to test.
//
//   interop-server --port=0 [--host=127.0.0.1]
//
// Prints "listening on ADDRESS" and serves until SIGTERM or SIGINT, after which it lets running calls end.

import Dispatch
import DispatchRPC
import Glibc
import InteropSupport

@main
enum InteropServer {
  private static let known: Set<String> = ["host", "port"]
  /// For calls that run when the server is told to stop.
  private static let grace = Duration.seconds(5)

  static func main() {
    do {
      let server = try start(try Flags(CommandLine.arguments.dropFirst(), known: known))
      let signals = onTermination { server.shutDown(grace: grace) { exit(0) } }
      withExtendedLifetime(signals) { dispatchMain() }
    } catch {
      quit("interop-server: \(error)", exitCode: 64)
    }
  }

  private static func start(_ flags: Flags) throws -> RPCServer {
    var router = RPCRouter()
    TestServiceHandlers().register(on: &router)
    let server = RPCServer(configuration: RPCServerConfiguration(shards: 2), router: router)
    let address = try server.listen(
      host: flags.string("host") ?? "127.0.0.1", port: try flags.number("port", default: UInt16(0)))
    say("listening on \(address)")
    return server
  }

  private static func onTermination(_ body: @escaping @Sendable () -> Void) -> [any DispatchSourceSignal] {
    [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler(handler: body)
      source.activate()
      return source
    }
  }
}
