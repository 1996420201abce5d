// The options that every admin command has: the service, and the form of the output.

internal import ArgumentParser
internal import DispatchRPC
internal import Glibc
internal import ServiceDestination
internal import TouchstoneServer

struct AdminOptions: ParsableArguments, Sendable {
  @OptionGroup var destination: Destination

  @Flag(help: "Print JSON, by the API's names: one object, or one in each line for lists and events.")
  var json = false

  @Flag(help: "Print times in UTC instead of this machine's time zone. JSON always has UTC.")
  var utc = false

  @Option(help: ArgumentHelp("How long to wait for an answer, from 1s to 10m.", valueName: "time"))
  var timeout = WaitingTime(value: .seconds(10))

  func validate() throws { try timeout.requireAtMost(.seconds(600)) }

  /// The destination's options, each from the environment if it was not given.
  func effectiveDestination() throws(AdminFailure) -> Destination {
    var effective = destination
    if effective.addresses.isEmpty { effective.addresses = environment("TARGET").map { [$0] } ?? [] }
    if environment("TLS") == "1" { effective.tls = true }
    effective.tlsAuthorities = effective.tlsAuthorities ?? environment("TLS_AUTHORITIES")
    effective.tlsServerName = effective.tlsServerName ?? environment("TLS_SERVER_NAME")
    effective.tlsCertificate = effective.tlsCertificate ?? environment("TLS_CERTIFICATE")
    effective.tlsKey = effective.tlsKey ?? environment("TLS_KEY")
    effective.keyFile = effective.keyFile ?? environment("KEY_FILE")
    do {
      try effective.validate()
    } catch {
      throw AdminFailure(.usage, "\(error) (with the environment's \(AdminVariables.prefix)…)")
    }
    return effective
  }

  /// An empty variable counts as absent.
  private func environment(_ name: String) -> String? {
    let value = getenv(AdminVariables.prefix + name).map { String(cString: $0) }
    return value?.isEmpty == true ? nil : value
  }

  /// A key and the caller's lines for the configuration are much smaller.
  static let maximumKeyFileBytes = 64 << 10
}

extension Destination {
  func access() throws(AdminFailure) -> (tls: RPCClientTLS?, metadata: Metadata) {
    let metadata: Metadata?
    do throws(Failure) {
      metadata = try self.metadata { path throws(Failure) in
        try readText(path, maximumBytes: AdminOptions.maximumKeyFileBytes)
      }
    } catch {
      throw AdminFailure(error)
    }
    guard let metadata else { throw AdminFailure(.usage, "\(keyFile ?? ""): the first line is no key") }
    do throws(RPCTLSError) {
      return (try clientTLS(), metadata)
    } catch {
      throw AdminFailure(Failure(error))
    }
  }
}
