// The service: it receives gRPC calls, applies the rules, commits changes and sends answers. Only here do codec, policy
// and store meet.

public import DispatchRPC
internal import Encodings
public import Logging
internal import Synchronization
package import TouchstoneAttestation
internal import TouchstoneCodec
public import TouchstoneCrypto
internal import TouchstoneMetrics
public import TouchstonePolicy
public import TouchstoneStore

/// Everything that a handler needs, wired once.
///
/// Register it with a server of `eventLoopCount` event loops: `router` routes its methods, and `roundEnded` runs at the
/// end of each round of an event loop. A caller in the same process needs no server: it calls `methods`.
public final class TouchstoneService: Sendable {
  let store: any Store
  let configuration: ServiceConfiguration
  let pepper: Pepper
  let unknownNames: UnknownNames
  let clock: ServiceEnvironment.Clock
  let randomness: Randomness
  let secretChecks: SecretChecks
  let keyProofs: KeyProofs
  let access: AccessControl
  let health: Health
  /// `nil`: health answers do not name it.
  let version: String?
  let watches: EventWatches
  /// For ListEvents. Watches have their own, so that neither waits for the other.
  let eventPermits = StorePermits(.eventReads)
  let bindingPermits = StorePermits(.bindingReads)
  let erasurePermits = StorePermits(.erasures)
  /// `nil`: switched off.
  let reflection: Reflection?
  let monotonicClock: @Sendable () -> MonotonicTime
  let eventThrottle = Mutex(EventThrottle())
  let searchLimit = Mutex(SearchLimit())
  let sharedDevices = Mutex(SharedDevices())
  let meters: ServiceMeters
  /// `nil`: no call is traced.
  let tracer: CallTracer?
  private let metrics: MetricRegistry
  private let book: Mutex<PolicyBook>
  private let currentVendors: Mutex<Vendors>
  private let currentKeys: Mutex<ServiceKeys>
  let contexts: [LoopContext]

  /// - Parameter eventLoopCount: the RPC server's number of event loops.
  public init(
    configuration: ServiceConfiguration, store: any Store, keys: KeyRing, eventLoopCount: Int, logger: Logger,
    environment: ServiceEnvironment
  ) {
    self.store = store
    self.configuration = configuration
    self.metrics = environment.metrics
    let meters = ServiceMeters(environment.metrics)
    self.meters = meters
    self.tracer = environment.tracer
    self.book = Mutex(PolicyBook(configuration.serving(configuration.policies), environment.metrics))
    self.currentVendors = Mutex(configuration.vendors ?? Vendors())
    self.currentKeys = Mutex(
      ServiceKeys(
        keys, issuer: configuration.issuer, randomness: environment.randomness, lineage: store.lineage))
    self.pepper = keys.pepper
    self.unknownNames = UnknownNames(pepper: keys.pepper)
    self.clock = environment.clock
    self.monotonicClock = environment.monotonicClock
    self.randomness = environment.randomness
    self.secretChecks = SecretChecks(
      hasher: environment.hasher
        ?? PasswordHasher(
          pepper: keys.pepper, parameters: configuration.secretHashing, randomness: environment.randomness),
      executor: environment.secrets, timer: environment.timer)
    self.keyProofs = KeyProofs(
      attestationTrust: configuration.attestationTrust,
      applications: configuration.serving(configuration.applications),
      executor: environment.secrets)
    self.access = AccessControl(
      configuration.callers, store: store, environment: environment, meters: meters, logger: logger)
    let workers = VerificationWorkers(
      cores: environment.verificationThreads, verifier: environment.signatures, apart: environment.costlySignatures)
    let health = Health(store: store, timer: environment.timer, logger: logger)
    self.health = health
    self.version = environment.version
    self.watches = EventWatches(store: store, timer: environment.timer)
    self.reflection = configuration.servesReflection ? Reflection(services: MethodDescriptor.services()) : nil
    self.contexts = (0..<eventLoopCount).map { _ in
      LoopContext(
        workers: workers, logger: logger, decisions: environment.decisions, health: health, meters: meters)
    }
  }

  /// Verifies the signatures that one round of an event loop collected.
  public func roundEnded(on loop: some CallLoop) {
    contexts[loop.index].verifications.flush(on: loop)
  }

  /// For an evaluation, a ticket or a token that is issued now.
  func newKey(expiresAt: UnixTime) -> ExpiringKey {
    ExpiringKey(expiresAt: expiresAt, random: randomness.uniqueID(), in: store.lineage)
  }

  /// Passcodes and gestures that wait for a permit, have one, or are hashed now.
  package var secretLoad: (waiting: Int, permitted: Int, running: Int) { secretChecks.permits.load }

  // MARK: Policies

  /// The present ones. A call that reads them twice may see two versions.
  var policies: PolicyBook { book.withLock { $0 } }

  /// Replaces the policies for all calls that begin later. An evaluation that began under another revision of its
  /// policy answers INVALID_CONTEXT (R36).
  public func replacePolicies(_ policies: [EvaluationPolicy]) {
    let replacement = PolicyBook(configuration.serving(policies), metrics)
    book.withLock { $0 = replacement }
  }

  // MARK: Vendors

  /// The present ones. A call that reads them twice may see two versions.
  func vendor(of applicationID: String) -> Vendor {
    // If there are no vendors, no call takes the lock.
    guard configuration.vendors != nil else { return .everybody }
    return currentVendors.withLock { $0 }.vendor(of: applicationID)
  }

  /// Replaces the vendors.
  ///
  /// - Precondition: the service was started with vendors.
  public func replaceVendors(_ vendors: Vendors) {
    precondition(configuration.vendors != nil, "all applications are one vendor's for as long as the service runs")
    currentVendors.withLock { $0 = vendors }
  }

  // MARK: Keys

  /// The present ones. A call that reads them twice may see two versions.
  var keys: ServiceKeys { currentKeys.withLock { $0 } }

  /// The public halves of all signing keys, as a JWK Set (RFC 7517 §5): what GetSigningKeys answers.
  public var publishedKeys: String { keys.jwkSet }

  /// Replaces the sealing and signing keys: everything that was made with a removed key is void.
  ///
  /// - Precondition: the pepper is the same, because stored records depend on it.
  public func replaceKeys(_ keys: KeyRing) {
    precondition(Pepper.areEqual(keys.pepper.check, pepper.check), "a running service keeps its pepper")
    let replacement = ServiceKeys(
      keys, issuer: configuration.issuer, randomness: randomness, lineage: store.lineage)
    currentKeys.withLock { $0 = replacement }
  }

  // MARK: Attestation

  /// The number of FIDO's metadata in force; `nil`: there is none.
  package var metadataNumber: Int? { keyProofs.trust.metadata?.number }

  /// For all keys that are bound later; bound ones stay proven.
  package func replaceAttestationTrust(_ trust: AttestationTrust) {
    keyProofs.replace(trust)
  }

  /// Replaces what applications demand of the proofs of keys that are bound later.
  package func replaceApplications(_ applications: [String: AttestationRequirements]) {
    keyProofs.replace(applications: configuration.serving(applications))
  }

  // MARK: Callers

  /// Replaces the callers; `nil`: every process on this machine. A removed caller is refused from the next call on.
  public func replaceCallers(_ callers: [CallerDefinition]?) {
    access.replace(callers)
    watches.callersChanged()
  }

  /// Called by the server after a failed TLS handshake. It is logged and, if the service requests client certificates,
  /// becomes an event like a refused call. Both are throttled.
  public func handshakeFailed(from client: SocketAddress, _ failure: RPCHandshakeFailure) {
    access.handshakeFailed(from: client, failure)
  }

  /// The ends of the audit log, or of its part that has the events of a time: the numbers of the last event before it,
  /// which may have been archived and dropped, and of its newest.
  package func auditLogExtent(
    since: UnixTime? = nil, until: UnixTime? = nil
  ) async throws(StoreError) -> ClosedRange<UInt64> {
    var start = try await storeResult { store.eventChainStart(completion: $0) }.get().sequence
    var head = try await storeResult { store.eventChainHead(completion: $0) }.get().sequence
    if let until { head = min(head, try await eventPlace(at: until + EventDraft.timeTolerance).get()) }
    if let since { start = max(start, try await eventPlace(at: since + (.zero - EventDraft.timeTolerance)).get()) }
    return min(start, head)...head
  }

  private func eventPlace(at time: UnixTime) async -> Result<UInt64, StoreError> {
    await storeResult { store.eventPlace(at: time, completion: $0) }
  }

  // MARK: Methods

  /// The table of all served methods.
  public var methods: MethodTable {
    var methods = MethodTable()
    registerEvaluation(&methods)
    registerBindings(&methods)
    registerTokens(&methods)
    registerAdministration(&methods)
    registerSecrets(&methods)
    registerHealth(&methods)
    registerReflection(&methods)
    return methods
  }

  public var router: RPCRouter { methods.router }
}

extension Randomness {
  /// 128 random bits in base64url. None begins with a hyphen, because programs would take it for an option.
  func bindingID() -> String {
    let id = Base64URL.encode(uniqueID().bytes)
    return id.hasPrefix("-") ? bindingID() : id
  }

  func uniqueID() -> UniqueID {
    guard let id = UniqueID(bytes: bytes(16)) else { preconditionFailure("16 bytes make an id") }
    return id
  }
}

extension ExpiringKey {
  /// - Parameter lifetime: the lifetime of what the service issues with such a key.
  func isInTime(at now: UnixTime, lifetime: Duration) -> Bool {
    Expiry.isInTime(expiresAt, lifetime: lifetime, at: now)
  }
}
