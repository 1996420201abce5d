// grpc.testing.TestService on DispatchRPC, for other implementations' clients to test.
//
//   interop-server --port=0 [--host=127.0.0.1] [--use_tls --tls_cert_file=PEM --tls_key_file=PEM]
//
// Prints "listening on ADDRESS" and serves until SIGTERM or SIGINT, after which it lets running calls end.

import Dispatch
import DispatchRPC
import Glibc
import InteropSupport

@main
enum InteropServer {
  private static let known: Set<String> = ["host", "port", "use_tls", "tls_cert_file", "tls_key_file"]
  /// For calls that run when the server receives the signal to stop.
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
    let server = RPCServer(configuration: configuration, router: router)
    let address = try server.listen(
      host: flags.string("host") ?? "127.0.0.1", port: try flags.number("port", default: UInt16(0)), tls: tls(flags))
    say("listening on \(address)")
    return server
  }

  /// The defaults suit small messages; concurrent_large_unary has as many large ones at once as there are streams.
  private static var configuration: RPCServerConfiguration {
    var configuration = RPCServerConfiguration(eventLoops: 2)
    configuration.maxBufferedRequestBytesPerConnection = configuration.maxConcurrentStreams * largestRequestBytes
    configuration.maxBufferedResponseBytesPerConnection = configuration.maxConcurrentStreams * largestRequestBytes
    // The choice of the calls that overload refuses depends on the machine's other work.
    configuration.shedding = nil
    return configuration
  }

  /// The largest request of the cases: 314,159 bytes, and the fields around them.
  private static let largestRequestBytes = 320 << 10

  private static func tls(_ flags: Flags) throws -> RPCServerTLS? {
    guard try flags.bool("use_tls") else { return nil }
    return try RPCServerTLS(
      certificateChainFile: try flags.text("tls_cert_file"), privateKeyFile: try flags.text("tls_key_file"))
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
