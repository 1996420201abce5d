// `touchstone healthcheck`: does a service serve? For containers and scripts.

internal import ArgumentParser
internal import Dispatch
internal import DispatchRPC
internal import Synchronization
internal import TouchstoneCodec

struct Healthcheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Ask a service whether it serves.",
    discussion: """
      Asks grpc.health.v1.Health/Check, which is open to every caller. Exits 0 where it serves, 1 where it does not (it \
      drains, or its store is out of reach), and 69 where nobody answers in time.
      """)

  @Option(help: ArgumentHelp("Where it listens.", valueName: "address"))
  var address = "127.0.0.1:7443"

  @Option(help: ArgumentHelp("A service by its full name; the server as a whole unless given.", valueName: "name"))
  var service = ""

  @Option(help: ArgumentHelp("Seconds to wait for the answer, from 1 to 60.", valueName: "seconds"))
  var timeout = 2

  @Flag(help: "Ask over TLS; so does each of the following options.")
  var tls = false

  @Option(
    help: ArgumentHelp("PEM: who may vouch for the service; the system's authorities unless given.", valueName: "file"))
  var authorities: String?

  @Option(
    help: ArgumentHelp("What its certificate is for, where that is not the host of the address.", valueName: "name"))
  var serverName: String?

  @Option(help: ArgumentHelp("PEM: an own certificate, where it takes one to connect.", valueName: "file"))
  var certificate: String?

  @Option(help: ArgumentHelp("PEM: the key of the own certificate.", valueName: "file"))
  var key: String?

  func validate() throws {
    if !(1...60).contains(timeout) { throw ValidationError("--timeout must be from 1 to 60") }
    if (certificate == nil) != (key == nil) { throw ValidationError("--certificate and --key go together") }
  }

  func run() throws {
    let status: GRPCHealth.ServingStatus
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

  private func ask() throws(Failure) -> GRPCHealth.ServingStatus {
    let endpoint = try Endpoint(parsing: address)
    let configuration = try clientConfiguration(endpoint)
    let request = RPCClientRequest(
      path: "/grpc.health.v1.Health/Check", message: try encoded(GRPCHealth.CheckRequest(service: service)))
    let answer = Mutex<Result<GRPCHealth.ServingStatus, Failure>?>(nil)
    let isAnswered = DispatchSemaphore(value: 0)
    // On another thread, since to look up a name may take its time, too.
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
      throw Failure(status: .usage, message: "--service is no name: \(error.reason)")
    }
  }

  // MARK: Calling

  /// Blocks until there is an answer, or will be none.
  private static func call(
    _ address: String, _ endpoint: Endpoint, _ configuration: RPCClientConfiguration, _ request: RPCClientRequest
  ) -> Result<GRPCHealth.ServingStatus, Failure> {
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
        address: socket, loop: RPCShard(label: "healthcheck"), configuration: configuration
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

  /// The first value that `begin` completes with. This thread has nothing else to do.
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
    Failure(status: .unavailable, message: "\(address): \(reason)")
  }
}

extension GRPCHealth.CheckResponse {
  fileprivate static func decoded(fromAnswer bytes: [UInt8]) throws(RPCError) -> Self {
    do throws(DecodingError) {
      return try decoded(from: bytes)
    } catch {
      throw RPCError(code: .internalError, message: "the answer is none")
    }
  }
}
