// The service: gRPC in, rules asked, changes committed, answers out. Only here do codec, policy and store meet.

public import DispatchRPC
public import Logging
internal import TouchstoneCodec
public import TouchstoneCrypto
public import TouchstonePolicy
public import TouchstoneStore

/// Everything that a handler needs, wired once.
///
/// Register it with a server of `shardCount` shards: `router` routes its methods, `wakeUpEnded` runs at the end of each
/// shard's wake-up.
public final class TouchstoneService: Sendable {
  public typealias Clock = @Sendable () -> UnixTime

  let store: any Store
  let configuration: ServiceConfiguration
  let policies: PolicyBook
  let sealer: ContentSealer
  let standIns: StandIns
  let signingKeys: SigningKeys
  let tokenSigner: TokenSigner
  let tokenVerifier: TokenVerifier
  let clock: Clock
  private let contexts: [ShardContext]

  /// - Parameters:
  ///   - shardCount: as many as the RPC server has.
  ///   - cores: threads that may verify signatures at one time.
  public init(
    configuration: ServiceConfiguration, store: any Store, keys: KeyRing, shardCount: Int, cores: Int, logger: Logger,
    clock: @escaping Clock
  ) {
    self.store = store
    self.configuration = configuration
    self.policies = PolicyBook(configuration.policies)
    self.sealer = ContentSealer(Sealer(keys: keys.sealing))
    self.standIns = StandIns(pepper: keys.pepper)
    self.signingKeys = keys.signing
    self.tokenSigner = TokenSigner(keys: keys.signing, issuer: configuration.issuer)
    self.tokenVerifier = TokenVerifier(keys: keys.signing, issuer: configuration.issuer)
    self.clock = clock
    let workers = VerificationWorkers(cores: cores)
    self.contexts = (0..<shardCount).map { _ in ShardContext(workers: workers, logger: logger) }
  }

  /// Verifies the signatures that one wake-up brought.
  public func wakeUpEnded(on shard: RPCShard) {
    contexts[shard.index].verifications.flush(on: shard)
  }

  /// Every method of touchstone.v1 that is served.
  public var router: RPCRouter {
    var router = RPCRouter()
    registerEvaluation(&router)
    registerBindings(&router)
    registerTokens(&router)
    registerAdministration(&router)
    registerSecrets(&router)
    return router
  }

  /// Decodes a request, hands it to `handler` on its shard, and refuses the call where that throws.
  func register<Request: WireMessage, Response: WireMessage>(
    _ path: String, in router: inout RPCRouter,
    handler: @escaping @Sendable (Request, Exchange<Response>) throws(RequestError) -> Void
  ) {
    router.register(path) { [contexts] call, bytes in
      let context = contexts[call.shard.index]
      let exchange = Exchange<Response>(call: call, context: context, caller: .local)
      do throws(RequestError) {
        try handler(Self.decode(bytes, with: context.coder), exchange)
      } catch {
        exchange.refuse(error)
      }
    }
  }

  private static func decode<Request: WireMessage>(
    _ bytes: UnsafeRawBufferPointer, with coder: MessageCoder
  ) throws(RequestError) -> Request {
    do throws(DecodingError) {
      return try coder.decode(Request.self, from: bytes)
    } catch {
      throw RequestError(error)
    }
  }

  /// For what the protos promise and a later version serves: a malformed request is still told apart.
  func registerUnserved<Request: WireMessage>(_ path: String, _ request: Request.Type, in router: inout RPCRouter) {
    register(path, in: &router) { (_: Request, _: Exchange<Request>) throws(RequestError) in
      throw RequestError(code: .unimplemented, message: "\(path) is not served by this version")
    }
  }
}
