import DispatchRPC
import Testing
import TouchstoneCodec

@testable import TouchstoneService

/// Callers: every kind of peer, with every kind of key.
struct AuthorizationTests {
  private static let spiffe = "spiffe://example.org/shop"

  private static let callers = [
    CallerDefinition("shop", .spiffe(spiffe), keys: [TestKey.shop]),
    CallerDefinition("bank", .dns("bank.example.org"), keys: [TestKey.bank]),
    CallerDefinition("support", .commonName("Support Desk")),
  ]

  private static let callersByPath = callers + [CallerDefinition("local"), CallerDefinition("plaintext")]

  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var peer: RPCPeer
    var authorization: String?
    var expected: Expected

    enum Expected: Equatable, Sendable {
      case caller(String)
      case refused(AccessRefusal)
    }

    init(_ name: String, _ peer: RPCPeer, _ expected: Expected) {
      self.init(name, peer, nil, expected)
    }

    init(_ name: String, _ peer: RPCPeer, _ authorization: String?, _ expected: Expected) {
      testDescription = name
      self.peer = peer
      self.authorization = authorization
      self.expected = expected
    }
  }

  private func identify(
    _ peer: RPCPeer, _ authorization: String?, by callers: [CallerDefinition]?, isKnownByPlace: Bool = true
  ) -> Case.Expected {
    let rules = Authorization(callers)
    let key = authorization.map(Authorization.ShownKey.init) ?? .none
    switch rules.identify(rules.standing(of: peer, isKnownByPlace: isKnownByPlace), key) {
    case .caller(let grants): return .caller(grants.caller.identity)
    case .refused(let refusal): return .refused(refusal)
    }
  }

  @Test(arguments: [
    Case("a Unix socket", .unix, .caller("local")),
    Case("loopback", .loopback, .caller("local")),
    Case("a key means nothing then", .loopback, "Bearer \(TestKey.shop)", .caller("local")),
    Case("the network", .stranger, .refused(.credentialsMissing)),
    Case("the network with a key", .stranger, "Bearer \(TestKey.shop)", .refused(.credentialsMissing)),
    Case("TLS", .encrypted, .refused(.credentialsMissing)),
    Case("mutual TLS", .certified([spiffe]), .refused(.certificateUnknown)),
  ])
  func withoutCallersWhoeverIsOnThisMachineIsLocal(_ test: Case) {
    #expect(identify(test.peer, test.authorization, by: nil) == test.expected)
  }

  /// Its clients come by proxies on this machine, which would make all of them `local`.
  @Test(arguments: [
    Case("a Unix socket", .unix, .refused(.credentialsMissing)),
    Case("loopback", .loopback, .refused(.credentialsMissing)),
    Case("the network", .stranger, .refused(.credentialsMissing)),
    Case("loopback with a key", .loopback, "Bearer \(TestKey.shop)", .caller("shop")),
    Case("loopback with a wrong key", .loopback, "Bearer \(TestKey.unknown)", .refused(.keyUnknown)),
    Case("the network with a key", .stranger, "Bearer \(TestKey.shop)", .refused(.keyInPlaintext)),
    Case("TLS with a key", .encrypted, "Bearer \(TestKey.shop)", .caller("shop")),
    Case("mutual TLS", .certified([spiffe]), .caller("shop")),
  ])
  func nobodyIsKnownByPlaceOnAnAddressForEverybody(_ test: Case) {
    #expect(
      identify(test.peer, test.authorization, by: Self.callersByPath, isKnownByPlace: false) == test.expected)
    let refusal: AccessRefusal = test.peer.certificate == nil ? .credentialsMissing : .certificateUnknown
    #expect(identify(test.peer, test.authorization, by: nil, isKnownByPlace: false) == .refused(refusal))
  }

  @Test(arguments: [
    Case("nothing on a Unix socket", .unix, .refused(.credentialsMissing)),
    Case("nothing on loopback", .loopback, .refused(.credentialsMissing)),
    Case("nothing in plaintext", .stranger, .refused(.credentialsMissing)),
    Case("nothing over TLS", .encrypted, .refused(.credentialsMissing)),

    Case("a SPIFFE ID", .certified([spiffe]), .caller("shop")),
    Case("beside other URIs", .certified(["https://example.org/", spiffe]), .caller("shop")),
    Case("another SPIFFE ID", .certified(["spiffe://example.org/shop2"]), .refused(.certificateUnknown)),
    Case("one that begins alike", .certified([spiffe + "/x"]), .refused(.certificateUnknown)),
    Case("in capitals", .certified(["spiffe://example.org/Shop"]), .refused(.certificateUnknown)),
    Case("two SPIFFE IDs", .certified([spiffe, "spiffe://example.org/x"]), .refused(.certificateAmbiguous)),
    Case("the same twice", .certified([spiffe, spiffe]), .refused(.certificateAmbiguous)),
    Case("a hidden second one", .certified([spiffe, "SPIFFE://x/y"]), .refused(.certificateAmbiguous)),
    Case(
      "two beside a host", .certified(["spiffe://a/b", "spiffe://a/c"], dns: ["bank.example.org"]),
      .refused(.certificateAmbiguous)),

    Case("a host", .certified(dns: ["bank.example.org"]), .caller("bank")),
    Case("among others", .certified(dns: ["x.example.org", "bank.example.org"]), .caller("bank")),
    Case("a wildcard", .certified(dns: ["*.example.org"]), .refused(.certificateUnknown)),
    Case("as a URI", .certified(["bank.example.org"]), .refused(.certificateUnknown)),
    Case("as a common name", .certified(commonName: "bank.example.org"), .refused(.certificateUnknown)),

    Case("a common name", .certified(commonName: "Support Desk"), .caller("support")),
    Case("as a host", .certified(dns: ["Support Desk"]), .refused(.certificateUnknown)),
    Case("with a space", .certified(commonName: "Support Desk "), .refused(.certificateUnknown)),

    // A SPIFFE ID is the only name of a certificate that has one.
    Case(
      "beside others' names", .certified([spiffe], dns: ["bank.example.org"], commonName: "Support Desk"),
      .caller("shop")),
    Case(
      "an unknown one beside a host", .certified(["spiffe://x/y"], dns: ["bank.example.org"]),
      .refused(.certificateUnknown)),
    Case(
      "beside a common name", .certified(["spiffe://x/y"], commonName: "Support Desk"), .refused(.certificateUnknown)),
    Case(
      "in capitals beside a host", .certified(["SPIFFE://x/y"], dns: ["bank.example.org"]),
      .refused(.certificateUnknown)),

    // A common name counts only where there is nothing better.
    Case("beside a host", .certified(dns: ["bank.example.org"], commonName: "Support Desk"), .caller("bank")),
    Case(
      "beside an unknown host", .certified(dns: ["x.example.org"], commonName: "Support Desk"),
      .refused(.certificateUnknown)),
    Case(
      "beside a URI", .certified(["https://example.org/"], commonName: "Support Desk"), .refused(.certificateUnknown)),
    Case(
      "beside an address", .certified(commonName: "Support Desk", hasAlternativeNames: true),
      .refused(.certificateUnknown)),
    Case("without any name", .certified(), .refused(.certificateUnknown)),

    Case("a key over TLS", .encrypted, "Bearer \(TestKey.shop)", .caller("shop")),
    Case("a key on loopback", .loopback, "Bearer \(TestKey.bank)", .caller("bank")),
    Case("a key on a Unix socket", .unix, "Bearer \(TestKey.bank)", .caller("bank")),
    Case("in any case of the scheme", .encrypted, "bEARER \(TestKey.shop)", .caller("shop")),
    Case("a key in plaintext", .stranger, "Bearer \(TestKey.shop)", .refused(.keyInPlaintext)),
    Case("an unknown one in plaintext", .stranger, "Bearer \(TestKey.unknown)", .refused(.keyInPlaintext)),
    Case("an unknown key", .encrypted, "Bearer \(TestKey.unknown)", .refused(.keyUnknown)),
    Case("on loopback", .loopback, "Bearer \(TestKey.unknown)", .refused(.keyUnknown)),
    Case("without a scheme", .encrypted, TestKey.shop, .refused(.keyMalformed)),
    Case("another scheme", .encrypted, "Basic \(TestKey.shop)", .refused(.keyMalformed)),
    Case("several spaces", .encrypted, "Bearer   \(TestKey.shop)", .caller("shop")),
    Case("a tab", .encrypted, "Bearer\t\(TestKey.shop)", .refused(.keyMalformed)),
    Case("a tab after a space", .encrypted, "Bearer \t\(TestKey.shop)", .refused(.keyMalformed)),
    Case("two keys", .encrypted, "Bearer \(TestKey.shop), Bearer \(TestKey.shop)", .refused(.keyMalformed)),
    Case("empty", .encrypted, "", .refused(.keyMalformed)),
    Case("the scheme alone", .encrypted, "Bearer ", .refused(.keyMalformed)),
    Case("the scheme and spaces", .encrypted, "Bearer   ", .refused(.keyMalformed)),
    Case("another's token", .encrypted, "Bearer eyJhbGciOiJFUzI1NiJ9.e30.x", .refused(.keyMalformed)),

    Case("both of one", .certified([spiffe]), "Bearer \(TestKey.shop)", .caller("shop")),
    Case("of two", .certified([spiffe]), "Bearer \(TestKey.bank)", .refused(.credentialsDiffer)),
    Case("an unknown key beside", .certified([spiffe]), "Bearer \(TestKey.unknown)", .refused(.keyUnknown)),
    Case("a malformed key beside", .certified([spiffe]), "Bearer x", .refused(.keyMalformed)),
    Case(
      "an unknown certificate", .certified(["spiffe://x/y"]), "Bearer \(TestKey.shop)",
      .refused(.certificateUnknown)),
    Case(
      "two SPIFFE IDs and a key", .certified([spiffe, "spiffe://x/y"]), "Bearer \(TestKey.shop)",
      .refused(.certificateAmbiguous)),
  ])
  func withCallersEachIsWhoTheySay(_ test: Case) {
    #expect(identify(test.peer, test.authorization, by: Self.callers) == test.expected)
  }

  @Test(arguments: [
    Case("a Unix socket", .unix, .caller("local")),
    Case("loopback", .loopback, .caller("local")),
    Case("plaintext", .stranger, .caller("plaintext")),
    Case("TLS", .encrypted, .refused(.credentialsMissing)),
    Case("mutual TLS", .certified(["spiffe://x/y"]), .refused(.certificateUnknown)),
    Case("who shows a key is not local", .loopback, "Bearer \(TestKey.unknown)", .refused(.keyUnknown)),
    Case("nor plaintext", .stranger, "Bearer \(TestKey.shop)", .refused(.keyInPlaintext)),
    Case("a malformed one", .unix, "Bearer", .refused(.keyMalformed)),
  ])
  func whoShowsNothingIsKnownByHowTheyComeWhereThatIsGranted(_ test: Case) {
    #expect(identify(test.peer, test.authorization, by: Self.callersByPath) == test.expected)
  }

  @Test func everyKeyOfACallerIsItsOwn() {
    let callers = [
      CallerDefinition("first", keys: [TestKey.shop]),
      CallerDefinition("second", keys: [TestKey.bank, TestKey.unknown]),
    ]
    #expect(identify(.encrypted, "Bearer \(TestKey.shop)", by: callers) == .caller("first"))
    #expect(identify(.encrypted, "Bearer \(TestKey.bank)", by: callers) == .caller("second"))
    #expect(identify(.encrypted, "Bearer \(TestKey.unknown)", by: callers) == .caller("second"))
  }

  @Test func aCertificateThatTwoCallersHaveNamesNobody() {
    let callers = [
      CallerDefinition("first", .commonName("x")), CallerDefinition("second", .commonName("x")),
    ]
    #expect(identify(.certified(commonName: "x"), nil, by: callers) == .refused(.certificateAmbiguous))
  }

  /// "é" in one piece and in two: to `String`, one name.
  @Test func namesAreComparedByBytes() {
    let callers = [CallerDefinition("first", .commonName("caf\u{E9}"))]
    #expect(identify(.certified(commonName: "caf\u{E9}"), nil, by: callers) == .caller("first"))
    #expect(identify(.certified(commonName: "cafe\u{301}"), nil, by: callers) == .refused(.certificateUnknown))
  }

  // MARK: Grants

  @Test(arguments: [
    ("*", 31), ("EvaluationService/*", 4), ("touchstone.v1.EvaluationService/*", 4),
    ("TokenService/GetSigningKeys", 1), ("touchstone.v1.TokenService/GetSigningKeys", 1),
  ])
  func aGrantIsOfMethodsAServiceOrAll(_ text: String, _ least: Int) throws {
    let grant = try #require(MethodGrant(text))
    let grants = CallerGrants(CallerDefinition("x", methods: [grant]))
    let granted = MethodDescriptor.all.indices.filter { grants.include($0) }.map { MethodDescriptor.all[$0] }
    if text == "*" {
      #expect(granted.count == MethodDescriptor.all.count)
    } else {
      #expect(granted.count == least)
      #expect(granted.allSatisfy { $0.path.contains(text.prefix { $0 != "*" }) })
    }
  }

  @Test(arguments: [
    "", "/", "**", "*/*", "Service/*", "EvaluationService", "EvaluationService/", "EvaluationService/Nothing",
    "evaluationservice/*", "/touchstone.v1.EvaluationService/BeginEvaluation", "touchstone.v1.*",
    "touchstone.v2.TokenService/*",
  ])
  func whatIsNoMethodIsNoGrant(_ text: String) {
    #expect(MethodGrant(text) == nil)
  }

  @Test func everyNameOfAGrantIsOne() {
    for name in MethodGrant.names { #expect(MethodGrant(name)?.description == name) }
  }

  @Test func nothingIsGrantedThatIsNotSaid() {
    let grants = CallerGrants(CallerDefinition(name: "x"))
    #expect(MethodDescriptor.all.indices.allSatisfy { !grants.include($0) })
    #expect(!grants.include(application: "") && !grants.include(application: "shop"))
  }

  @Test func aMethodWithoutARuleIsGrantedToNobody() {
    #expect(!CallerGrants(CallerDefinition("x")).include(nil))
  }

  @Test func applicationsAreComparedByBytes() {
    let grants = CallerGrants(CallerDefinition("x", applications: .these(["caf\u{E9}", "shop"])))
    #expect(grants.include(application: "caf\u{E9}") && grants.include(application: "shop"))
    for other in ["cafe\u{301}", "Shop", "shop ", "sho", "", "*"] { #expect(!grants.include(application: other)) }
  }

  // MARK: Configuration

  @Test(arguments: [
    (CertificateName.spiffe("spiffe://example.org/a/b-c_d.e"), true), (.spiffe("spiffe://example.org"), true),
    (.spiffe("spiffe://Example.org/a"), false), (.spiffe("spiffe:///a"), false), (.spiffe("spiffe://a/"), false),
    (.spiffe("spiffe://a//b"), false), (.spiffe("spiffe://a/../b"), false), (.spiffe("spiffe://a/b?c"), false),
    (.spiffe("https://a/b"), false), (.spiffe("spiffe://a:1/b"), false), (.spiffe("spiffe://a/%61"), false),
    (.spiffe(""), false),
    (.dns("a.example.org"), true), (.dns("localhost"), true), (.dns("A.example.org"), false),
    (.dns("*.example.org"), false), (.dns("a..b"), false), (.dns("-a.b"), false), (.dns("a.b."), false),
    (.dns(""), false), (.dns(String(repeating: "a", count: 64)), false),
    (.commonName("Support Desk"), true), (.commonName("客服"), true), (.commonName(""), false),
    (.commonName("a\u{0}b"), false), (.commonName(String(repeating: "x", count: 65)), false),
  ])
  func aNameIsOneThatACertificateCanHave(_ name: CertificateName, _ isOne: Bool) {
    #expect((name.violation == nil) == isOne)
  }

  @Test func aCallersNameIsASCIIAndNotTheUnknowns() {
    for name in ["shop", "a", "A.b_c-9", "local", String(repeating: "x", count: 64)] {
      #expect(CallerDefinition.violation(inName: name) == nil)
    }
    for name in ["", "a b", "é", "a/b", "unknown", String(repeating: "x", count: 65)] {
      #expect(CallerDefinition.violation(inName: name) != nil)
    }
  }
}
