// `touchstone healthcheck`: tests whether a service serves, for containers and scripts.

internal import ArgumentParser
internal import Dispatch
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec
internal import TouchstoneServer

struct Healthcheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Test whether a service serves.",
    discussion: """
      Calls grpc.health.v1.Health/Check, which is open to every peer. Exits with 0 if the service serves, 1 if it does not \
      (it drains, or its store is unreachable), and 69 if there is no answer in time.
      """)

  @Option(help: ArgumentHelp("The service's address.", valueName: "address"))
  var address = "127.0.0.1:7443"

  @Option(help: ArgumentHelp("A service by its full name; the server as a whole unless given.", valueName: "name"))
  var service = ""

  @Option(help: ArgumentHelp("Seconds to wait for the answer, from 1 to 60.", valueName: "seconds"))
  var timeout = 2

  @Flag(help: "Use TLS; each of the following options does so, too.")
  var tls = false

  @Option(
    help: ArgumentHelp(
      "PEM: the authorities for the service's certificate; the system's unless given.", valueName: "file"))
  var authorities: String?

  @Option(
    help: ArgumentHelp("The name in its certificate, if that is not the host of the address.", valueName: "name"))
  var serverName: String?

  @Option(help: ArgumentHelp("PEM: a client certificate, if the service requires one.", valueName: "file"))
  var certificate: String?

  @Option(help: ArgumentHelp("PEM: the client certificate's key.", valueName: "file"))
  var key: String?

  func validate() throws {
    if !(1...60).contains(timeout) { throw ValidationError("--timeout must be from 1 to 60") }
    if (certificate == nil) != (key == nil) { throw ValidationError("--certificate and --key go together") }
  }

  func run() throws {
    let status: GRPCHealth.CheckResponse.ServingStatus
    do throws(Failure) {
      status = try ask()
    } catch {
      fail(error)
    }
    guard status == .serving else {
      printError("touchstone: \(address) does not serve")
      throw ExitCode.failure
    }
    printLine("serving")
  }

  private func ask() throws(Failure) -> GRPCHealth.CheckResponse.ServingStatus {
    let endpoint = try Endpoint(parsing: address)
    let configuration = try clientConfiguration(endpoint)
    let request = RPCClientRequest(
      path: GRPCHealth.Health.check.path, message: try encoded(GRPCHealth.CheckRequest(service: service)))
    let answer = Mutex<Result<GRPCHealth.CheckResponse.ServingStatus, Failure>?>(nil)
    let isAnswered = DispatchSemaphore(value: 0)
    // On another thread, because looking up a name may take long, too.
    DispatchQueue.global().async { [address] in
      let result = Self.call(address, endpoint, configuration, request)
      answer.withLock { $0 = result }
      isAnswered.signal()
    }
    _ = isAnswered.wait(timeout: .now() + .seconds(timeout))
    guard let result = answer.withLock({ $0 }) else { throw Self.unreachable(address, "no answer in \(timeout) s") }
    return try result.get()
  }

  private func clientConfiguration(_ endpoint: Endpoint) throws(Failure) -> RPCClientConfiguration {
    var configuration = RPCClientConfiguration()
    if case .tcp(let host, let port) = endpoint { configuration.authority = "\(host):\(port)" }
    guard tls || authorities != nil || serverName != nil || certificate != nil else { return configuration }
    do throws(RPCTLSError) {
      var identity: RPCClientTLS.Identity?
      if let certificate, let key {
        identity = RPCClientTLS.Identity(certificateChainFile: certificate, privateKeyFile: key)
      }
      configuration.tls = try RPCClientTLS(
        authorities: authorities.map { .file($0) } ?? .system, serverName: serverName, identity: identity)
    } catch {
      throw Failure(error)
    }
    return configuration
  }

  private func encoded(_ request: GRPCHealth.CheckRequest) throws(Failure) -> [UInt8] {
    do throws(EncodingError) {
      return try request.encoded()
    } catch {
      throw Failure(kind: .usage, message: "--service is not a valid name: \(error.reason)")
    }
  }

  // MARK: The call

  /// Blocks until the call is answered or has failed.
  private static func call(
    _ address: String, _ endpoint: Endpoint, _ configuration: RPCClientConfiguration, _ request: RPCClientRequest
  ) -> Result<GRPCHealth.CheckResponse.ServingStatus, Failure> {
    Result { () throws(Failure) in
      let connection = try connect(address, endpoint, configuration)
      defer { connection.close() }
      do throws(RPCError) {
        let response = try wait { completion in _ = connection.start(request, completion: completion) }.get()
        return try GRPCHealth.CheckResponse.decoded(fromAnswer: response.message).status
      } catch {
        throw unreachable(address, "\(error.message) (\(error.code))")
      }
    }
  }

  private static func connect(
    _ address: String, _ endpoint: Endpoint, _ configuration: RPCClientConfiguration
  ) throws(Failure) -> RPCClientConnection {
    let socket = try endpoint.resolved()
    let made = Mutex<RPCClientConnection?>(nil)
    let connected: Result<Void, RPCError> = wait { completion in
      let connection = RPCClientConnection(
        address: socket, loop: EventLoop(label: "healthcheck"), configuration: configuration
      ) { event in
        switch event {
        case .connected: completion(.success(()))
        case .closed(let error): completion(.failure(error))
        default: break
        }
      }
      made.withLock { $0 = connection }
      connection.connect()
    }
    if case .failure(let error) = connected { throw unreachable(address, error.message) }
    guard let connection = made.withLock({ $0 }) else { preconditionFailure("connected by no connection") }
    return connection
  }

  /// Returns the first value with which `begin` completes. Blocks the thread, which has no other work.
  private static func wait<Value: Sendable>(_ begin: (@escaping @Sendable (Value) -> Void) -> Void) -> Value {
    let first = Mutex<Value?>(nil)
    let isThere = DispatchSemaphore(value: 0)
    begin { value in
      first.withLock { $0 = $0 ?? value }
      isThere.signal()
    }
    isThere.wait()
    guard let value = first.withLock({ $0 }) else { preconditionFailure("signalled without a value") }
    return value
  }

  private static func unreachable(_ address: String, _ reason: String) -> Failure {
    Failure(kind: .unavailable, message: "\(address): \(reason)")
  }
}

extension GRPCHealth.CheckResponse {
  fileprivate static func decoded(fromAnswer bytes: [UInt8]) throws(RPCError) -> Self {
    do throws(DecodingError) {
      return try decoded(from: bytes)
    } catch {
      throw RPCError(code: .internalError, message: "the answer cannot be decoded")
    }
  }
}
