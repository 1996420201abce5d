// `touchstone healthcheck`: tests whether a service serves, for containers and scripts.

internal import ArgumentParser
internal import CommandProgram
internal import Dispatch
internal import DispatchRPC
internal import Glibc
internal import ServiceDestination
internal import TouchstoneClient
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneServer

struct Healthcheck: FallibleCommand {
  static let configuration = CommandConfiguration(
    abstract: "Test whether a service serves.",
    discussion: """
      Calls grpc.health.v1.Health/Check, which is open to every peer. Exits with 0 if the service serves, 1 if it does not \
      (it drains, or its store is unreachable), and 69 if there is no answer in time.
      """)

  @OptionGroup var destination: Destination

  @Option(help: ArgumentHelp("A service by its full name; the server as a whole unless given.", valueName: "name"))
  var service = ""

  @Option(help: ArgumentHelp("How long to wait for the answer, from 1s to 1m.", valueName: "time"))
  var timeout = WaitingTime(value: .seconds(2))

  func validate() throws {
    try timeout.requireAtMost(.seconds(60))
    if destination.targets.count > 1 { throw ValidationError("--target: one address; `admin health` asks several") }
  }

  func perform() throws(Failure) {
    let client = TouchstoneClient(configuration: try clientConfiguration())
    Task {
      do throws(TouchstoneError) {
        guard try await client.health(of: service).status == .serving else {
          printError("touchstone: \(address) does not serve")
          Program.end(EXIT_FAILURE)
        }
      } catch {
        fail(failure(error))
      }
      printLine("serving")
      Program.end(EXIT_SUCCESS)
    }
    DispatchSemaphore(value: 0).wait()
  }

  private var address: String { destination.targets[0] }

  private func clientConfiguration() throws(Failure) -> TouchstoneClientConfiguration {
    _ = try Endpoint(parsing: address)
    var configuration = TouchstoneClientConfiguration(target: address, maximumConnections: 1)
    configuration.defaultTimeout = timeout.value
    configuration.tls = try failing { () throws(RPCTLSError) in try destination.clientTLS() }
    return configuration
  }

  private func failure(_ error: TouchstoneError) -> Failure {
    switch error.code {
    case .invalidArgument: Failure(kind: .usage, message: "--service is not a valid name: \(error.message)")
    case .deadlineExceeded:
      Failure(kind: .unavailable, message: "\(address): no answer in \(timeout.value.settingName)")
    default: Failure(kind: .unavailable, message: "\(address): \(error.message) (\(error.code))")
    }
  }
}
