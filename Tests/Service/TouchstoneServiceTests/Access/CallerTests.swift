import DispatchRPC
import InMemoryLogging
import Logging
import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstoneStore

@testable import TouchstoneService

/// Every method checks the caller before it does anything else.
struct CallerTests {
  private static let open = MethodDescriptor.all.filter { $0.access == .open }.map(\.path)
  private static let guarded = MethodDescriptor.all.filter { $0.access != .open }.map(\.path)
  private static let aboutApplications = MethodDescriptor.all.filter { $0.access == .applicationGranted }.map(\.path)

  // MARK: Every method

  @Test func everyMethodOfTheProtosIsServedOnce() {
    #expect(InProcessService(callers: nil).service.methods.paths.sorted() == MethodDescriptor.all.map(\.path).sorted())
  }

  /// Strangers get health checks, and nothing else.
  @Test func onlyHealthIsOpen() {
    #expect(Set(Self.open) == Set(["Check", "List", "Watch"].map { "/grpc.health.v1.Health/\($0)" }))
  }

  /// A grant for one application serves every other method in that application alone.
  @Test func onlyKeysAndReflectionConcernNoApplication() {
    #expect(
      Set(Self.guarded).subtracting(Self.aboutApplications) == [
        "/touchstone.v1.TokenService/GetSigningKeys",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      ])
  }

  @Test func whatGrantsAndVendorsNameAreTheNamedApplications() {
    var (shop, gateway) = (CallerDefinition(name: "shop"), CallerDefinition(name: "gateway"))
    shop.applications = .these(["shop", "bank"])
    gateway.applications = .all
    var configuration = ServiceConfiguration()
    configuration.callers = [shop, gateway]
    configuration.vendors = Vendors([(name: "group", applicationIDs: ["bank", "wallet"])])
    #expect(Set(configuration.namedApplications) == ["shop", "bank", "wallet"])
  }

  @Test(arguments: guarded)
  func whoShowsNothingIsRefused(_ path: String) {
    let service = InProcessService(callers: [CallerDefinition("shop", .spiffe("spiffe://x/shop"), keys: [TestKey.shop])]
    )
    for peer in [RPCPeer.unix, .loopback, .stranger, .encrypted] {
      #expect(service.answer(path, by: peer) == .refused(.credentialsMissing))
    }
    #expect(service.answer(path, by: .encrypted, key: TestKey.unknown) == .refused(.keyUnknown))
    #expect(service.answer(path, by: .certified(["spiffe://x/y"])) == .refused(.certificateUnknown))
  }

  @Test(arguments: guarded)
  func whoIsGrantedAllOtherMethodsIsRefused(_ path: String) {
    let others = Self.guarded.filter { $0 != path }.map { MethodGrant.method(String($0.dropFirst())) }
    let service = InProcessService(callers: [CallerDefinition("shop", keys: [TestKey.shop], methods: others)])
    #expect(service.answer(path, by: .encrypted, key: TestKey.shop) == .refused(.methodNotGranted))
  }

  @Test(arguments: guarded)
  func whoIsGrantedTheMethodIsNotRefused(_ path: String) {
    let grant = MethodGrant.method(String(path.dropFirst()))
    let service = InProcessService(callers: [CallerDefinition("shop", keys: [TestKey.shop], methods: [grant])])
    #expect(!service.answer(path, by: .encrypted, key: TestKey.shop).isRefused)
    #expect(service.events.allSatisfy { $0.kind != "call.refused" })
  }

  /// An empty request names no application, and a grant for some is none for that.
  @Test(arguments: aboutApplications)
  func whoIsGrantedOtherApplicationsIsRefused(_ path: String) {
    let service = InProcessService(callers: [
      CallerDefinition("shop", keys: [TestKey.shop], applications: .these(["shop"]))
    ])
    #expect(service.answer(path, by: .encrypted, key: TestKey.shop) == .refused(.applicationNotGranted))
  }

  @Test(arguments: guarded)
  func withoutCallersThisMachineMayDoEverythingAndNobodyElseAnything(_ path: String) {
    let service = InProcessService(callers: nil)
    for peer in [RPCPeer.unix, .loopback] { #expect(!service.answer(path, by: peer).isRefused) }
    for peer in [RPCPeer.stranger, .encrypted] {
      #expect(service.answer(path, by: peer) == .refused(.credentialsMissing))
    }
    #expect(service.answer(path, by: .certified(["spiffe://x/y"])) == .refused(.certificateUnknown))
  }

  /// Transports whose messages cost much to read check the caller first. A refusal is then an event, and a call that is
  /// admitted leaves none.
  @Test(
    arguments: [
      (open[0], nil, nil), (guarded[0], TestKey.shop, nil), (guarded[0], nil, .credentialsMissing),
      (guarded[0], TestKey.unknown, .keyUnknown), (guarded[1], TestKey.shop, .methodNotGranted),
    ] as [(String, String?, AccessRefusal?)])
  func callersAreCheckedBeforeTheMessageIsRead(_ path: String, _ key: String?, _ refusal: AccessRefusal?) {
    let grant = MethodGrant.method(String(Self.guarded[0].dropFirst()))
    let service = InProcessService(callers: [CallerDefinition("shop", keys: [TestKey.shop], methods: [grant])])
    let call = service.checkCaller(path, key: key)
    #expect(call.isAdmitted == (refusal == nil))
    #expect(call.error?.reason == refusal?.rawValue)
    #expect(
      service.events.map { $0.details.first { $0.key == "reason" }?.value } == (refusal.map { [$0.rawValue] } ?? []))
  }

  @Test(arguments: open)
  func whatIsOpenIsAnsweredToEverybody(_ path: String) {
    for callers in [nil, [CallerDefinition("shop", keys: [TestKey.shop])]] {
      let service = InProcessService(callers: callers)
      for peer in [RPCPeer.unix, .stranger, .encrypted] { #expect(!service.answer(path, by: peer).isRefused) }
    }
  }

  // MARK: Applications

  /// Requests that name their application somewhere inside.
  @Test func theApplicationIsLookedForWhereTheRequestHasIt() throws {
    let service = InProcessService(callers: [
      CallerDefinition("shop", keys: [TestKey.shop], applications: .these(["shop"]))
    ])
    func call(_ method: String, _ request: some WireMessage) throws -> Answer {
      service.answer(
        "/touchstone.v1.AdministrationService/\(method)", by: .encrypted, key: TestKey.shop,
        message: try request.encoded())
    }
    for (application, isGranted) in [("shop", true), ("bank", false), ("", false)] {
      let filter = V1.EventFilter(applicationID: application)
      let begin = V1.BeginEvaluationRequest(applicationID: application)
      let answers = [
        try call("ListEvents", V1.ListEventsRequest(filter: filter)),
        try call("WatchEvents", V1.WatchEventsRequest(filter: filter)),
        try call("ExplainEvaluation", V1.ExplainEvaluationRequest(begin: begin)),
        try call("GetProfile", V1.GetProfileRequest(applicationID: application, profileID: "x")),
      ]
      for answer in answers { #expect((answer != .refused(.applicationNotGranted)) == isGranted) }
    }
  }

  /// Neither refusal depends on what is stored: it is not even read.
  @Test func aRefusalTellsNothingOfWhatIsThere() async throws {
    let store = MemoryStore()
    let service = InProcessService(
      callers: [CallerDefinition("shop", keys: [TestKey.shop], applications: .these(["shop"]))], store: store)
    try store.change(.putProfile(ProfileRecord(applicationID: "bank", profileID: "alice")))
    store.failReads(.corrupt)
    for application in ["bank", "nothing there"] {
      let request = V1.GetProfileRequest(applicationID: application, profileID: "alice")
      let path = "/touchstone.v1.AdministrationService/GetProfile"
      let message = try request.encoded()
      #expect(
        service.answer(path, by: .encrypted, key: TestKey.shop, message: message) == .refused(.applicationNotGranted))
      #expect(service.answer(path, by: .encrypted, message: message) == .refused(.credentialsMissing))
    }
  }

  /// A caller that may not call learns nothing about the form of a request.
  @Test func aMalformedRequestOfAStrangerIsRefusedAsAnyOther() {
    let service = InProcessService(callers: [CallerDefinition("shop", keys: [TestKey.shop])])
    let path = "/touchstone.v1.EvaluationService/BeginEvaluation"
    #expect(service.answer(path, by: .encrypted, message: [0xFF]) == .refused(.credentialsMissing))
    #expect(
      service.answer(path, by: .encrypted, key: TestKey.shop, message: [0xFF]) == .failed(.invalidArgument, reason: nil)
    )
  }

  // MARK: Sealed contents

  // R34
  @Test func anEvaluationIsNothingToAnotherCallerAndVoidOnceItsOwnIsGone() async throws {
    let shop = CallerDefinition("shop", keys: [TestKey.shop])
    let bank = CallerDefinition("bank", keys: [TestKey.bank])
    let service = try await TestService.start { $0.callers = [shop, bank] }
    _ = try await service.authorized(by: TestKey.shop).set(.passcode("2468"))
    let opened = try await service.authorized(by: TestKey.shop).begin(profileID: "alice")
    let stolen = try await service.authorized(by: TestKey.bank).submit(opened, .typed("2468"))
    #expect(stolen.outcome == .invalidContext)

    service.replaceCallers([bank])
    let gone = await refusal { try await service.authorized(by: TestKey.shop).submit(opened, .typed("2468")) }
    #expect(gone.code == .unauthenticated)
    let left = try await service.authorized(by: TestKey.bank).submit(opened, .typed("2468"))
    #expect(left.outcome == .invalidContext)

    service.replaceCallers([shop])
    let back = try await service.authorized(by: TestKey.shop).submit(opened, .typed("2468"))
    #expect(back.outcome == .succeeded)
  }

  // R28
  @Test func aTicketIsNothingToAnotherCaller() async throws {
    let service = try await TestService.start { configuration in
      configuration.callers = [
        CallerDefinition("shop", keys: [TestKey.shop]), CallerDefinition("bank", keys: [TestKey.bank]),
      ]
    }
    let phone = TestPhone()
    let begun = try await service.authorized(by: TestKey.shop).beginBinding(phone)
    let stolen = await refusal { try await service.authorized(by: TestKey.bank).completeBinding(phone, begun) }
    #expect(stolen.reason == RequestError.Reason.ticketInvalid)
    _ = try await service.authorized(by: TestKey.shop).completeBinding(phone, begun)
    #expect(service.events.map(\.caller) == ["bank", "shop"])
  }

  // MARK: Reloading

  /// The service's findings about a connection's peer last no longer than the callers.
  @Test func newCallersHoldForConnectionsThatAreThere() {
    let service = InProcessService(callers: [CallerDefinition("shop", .spiffe("spiffe://x/shop"))])
    let connection = InProcessConnection(.certified(["spiffe://x/shop"]))
    let path = "/touchstone.v1.TokenService/GetSigningKeys"
    #expect(service.answer(path, on: connection) == .answered)
    service.service.replaceCallers([CallerDefinition("bank", .spiffe("spiffe://x/bank"))])
    #expect(service.answer(path, on: connection) == .refused(.certificateUnknown))
    service.service.replaceCallers([CallerDefinition("shop", .spiffe("spiffe://x/shop"), methods: [])])
    #expect(service.answer(path, on: connection) == .refused(.methodNotGranted))
    service.service.replaceCallers([CallerDefinition("shop", .spiffe("spiffe://x/shop"))])
    #expect(service.answer(path, on: connection) == .answered)
  }

  /// A proxy may carry several callers on one connection.
  @Test func eachCallOnAConnectionIsWhoItsKeySays() {
    let service = InProcessService(callers: [
      CallerDefinition("shop", keys: [TestKey.shop]), CallerDefinition("bank", keys: [TestKey.bank], methods: []),
    ])
    let connection = InProcessConnection(.encrypted)
    let path = "/touchstone.v1.TokenService/GetSigningKeys"
    for _ in 0..<2 {
      #expect(service.answer(path, on: connection, key: TestKey.shop) == .answered)
      #expect(
        service.answer(path, on: connection, key: TestKey.bank) == .refused(.methodNotGranted))
      #expect(service.answer(path, on: connection) == .refused(.credentialsMissing))
    }
  }

  // MARK: Audit

  // R41
  @Test func aRefusedCallIsAnEventOfWhoHowAndWhy() {
    let service = InProcessService(callers: [
      CallerDefinition("shop", .spiffe("spiffe://x/shop"), keys: [TestKey.shop], applications: .these([]))
    ])
    let path = "/touchstone.v1.AdministrationService/EraseProfile"
    _ = service.answer(path, by: .stranger, key: TestKey.shop)
    _ = service.answer(path, by: .encrypted, key: TestKey.unknown)
    _ = service.answer(path, by: .certified(["spiffe://x/shop"]))
    _ = service.answer(path, by: .unix)
    _ = service.answer(path, by: .loopback, key: TestKey.shop)
    let expected: [(String, String, String)] = [
      ("unknown", "plaintext", "KEY_IN_PLAINTEXT"), ("unknown", "tls", "KEY_UNKNOWN"),
      ("shop", "mutual_tls", "APPLICATION_NOT_GRANTED"), ("unknown", "unix", "CREDENTIALS_MISSING"),
      ("shop", "loopback", "APPLICATION_NOT_GRANTED"),
    ]
    #expect(
      service.events
        == expected.map { caller, peer, reason in
          EventDraft(
            time: service.clock.now, kind: "call.refused", applicationID: "", caller: caller,
            details: [
              EventDetail(key: "peer", value: peer), EventDetail(key: "reason", value: reason),
              EventDetail(key: "method", value: "touchstone.v1.AdministrationService/EraseProfile"),
            ])
        })
  }

  // R41
  @Test func aFloodOfRefusalsIsFewEventsAndEveryAnswerIsTheSame() {
    let service = InProcessService(callers: [CallerDefinition("shop", keys: [TestKey.shop])])
    for _ in 0..<10_000 {
      #expect(
        service.answer("/touchstone.v1.TokenService/GetSigningKeys", by: .encrypted, key: TestKey.unknown)
          == .refused(.keyUnknown))
    }
    #expect(service.events.count == RefusalThrottle.burst)
    #expect(service.store.commitCount == RefusalThrottle.burst)
  }

  // R41
  @Test func aClientThatTLSDoesNotLetInIsARefusedCallWhereItIsAskedForACertificate() {
    let service = InProcessService(callers: [CallerDefinition("shop", .spiffe("spiffe://x/shop"))])
    let client = RPCPeer.stranger.address
    service.service.handshakeFailed(from: client, RPCHandshakeFailure(.other, "not TLS"))
    #expect(service.events.isEmpty)
    for _ in 0..<1_000 {
      service.service.handshakeFailed(from: client, RPCHandshakeFailure(.certificateRefused, "certificate has expired"))
    }
    #expect(service.store.commitCount == RefusalThrottle.burst)
    let details = [
      EventDetail(key: "peer", value: "tls"), EventDetail(key: "reason", value: "CERTIFICATE_REFUSED"),
    ]
    let expected = EventDraft(
      time: service.clock.now, kind: "call.refused", applicationID: "", caller: "unknown", details: details)
    #expect(service.events == Array(repeating: expected, count: RefusalThrottle.burst))
  }

  @Test func whyTLSDidNotLetAClientInIsLoggedNowAndThen() async throws {
    let service = try await TestService.start { $0.callers = [] }
    service.store.failCommits(.unavailable)
    for _ in 0..<1_000 {
      service.service.handshakeFailed(
        from: RPCPeer.stranger.address, RPCHandshakeFailure(.certificateRefused, "certificate has expired"))
    }
    let line = try #require(service.troubles.first)
    #expect(line.message == "a TLS handshake failed")
    #expect(line.metadata["reason"] == "certificate has expired")
    #expect(service.log.entries.count < 100)
    #expect(service.log.entries.allSatisfy { !"\($0)".contains("192.0.2.7") })
  }

  // R41
  @Test func noKeyIsInAnEventOrAnError() async throws {
    let service = try await TestService.start { configuration in
      configuration.callers = [CallerDefinition("shop", keys: [TestKey.shop], methods: [])]
    }
    var errors: [RPCError] = []
    for key in [TestKey.shop, TestKey.unknown, "not a key at all"] {
      errors.append(await refusal { try await service.authorized(by: key).settings() })
    }
    let said = "\(errors) \(service.events) \(service.log.entries)"
    for key in [TestKey.shop, TestKey.unknown] {
      #expect(!said.contains(key.dropFirst("tsk_".count)))
      let digest = try #require(CallerKeyDigest(ofKey: key))
      #expect(!said.contains("\(digest)".dropFirst("sha256:".count)))
    }
    #expect(!said.contains("not a key at all"))
  }

  @Test func aStoreThatIsDownRefusesAsEver() {
    let service = InProcessService(callers: [CallerDefinition("shop", keys: [TestKey.shop])])
    service.store.failCommits(.unavailable)
    #expect(
      service.answer("/touchstone.v1.TokenService/GetSigningKeys", by: .encrypted) == .refused(.credentialsMissing))
  }
}

private enum Answer: Equatable {
  case answered
  /// A stream that waits for more.
  case open
  /// - Parameter reason: ErrorInfo's.
  case failed(RPCCode, reason: String?)

  static func refused(_ refusal: AccessRefusal) -> Answer {
    .failed(refusal.isUnauthenticated ? .unauthenticated : .permissionDenied, reason: refusal.rawValue)
  }

  var isRefused: Bool { AccessRefusal.allCases.contains { self == .refused($0) } }
}

extension InProcessService {
  fileprivate convenience init(callers: [CallerDefinition]?, store: MemoryStore = MemoryStore()) {
    self.init(store: store) { $0.callers = callers }
  }

  fileprivate func answer(
    _ path: String, by peer: RPCPeer, key: String? = nil, message: [UInt8] = []
  ) -> Answer {
    answer(path, on: InProcessConnection(peer), key: key, message: message)
  }

  /// The first that comes.
  fileprivate func answer(
    _ path: String, on connection: InProcessConnection, key: String? = nil, message: [UInt8] = []
  ) -> Answer {
    let call = begin(path, message: message, on: connection, key: key)
    if !call.sent.isEmpty { return .answered }
    return switch call.ending {
    case .failed(let error): .failed(error.code, reason: error.reason)
    case .finished, .cancelled: .answered
    case nil: .open
    }
  }
}
