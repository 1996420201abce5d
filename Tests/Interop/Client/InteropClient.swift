// grpc.testing.TestService's client on DispatchRPC, for other implementations' servers to answer.
//
//   interop-client --server_port=PORT --test_case=NAME [--server_host=localhost]
//     [--use_tls [--use_test_ca --ca_file=PEM] [--server_host_override=NAME]]
//
// Exits with 0 where the case passes, otherwise with 1 and the reason on stderr.

import InteropSupport

@main
enum InteropClient {
  private static let known = SoakLimits.flags.union([
    "server_host", "server_port", "test_case", "use_tls", "use_test_ca", "ca_file", "server_host_override",
  ])

  static func main() async {
    do throws(any Error) {
      try await run(try Flags(CommandLine.arguments.dropFirst(), known: known))
    } catch let fault as Flags.Fault {
      quit("interop-client: \(fault)", exitCode: 64)
    } catch {
      quit("interop-client: \(error)", exitCode: 1)
    }
  }

  private static func run(_ flags: Flags) async throws {
    let name = flags.string("test_case") ?? "large_unary"
    guard let testCase = TestCases.named[name] else {
      throw Flags.Fault(description: "no such case: \(name). There are: \(TestCases.named.keys.sorted())")
    }
    let client = try TestClient(flags)
    try await testCase(client)
    await client.channel.close()
  }
}
