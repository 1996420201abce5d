// The routes of the HTTP addresses: the keys that verify tokens, the API's methods, health, metrics, the console.

internal import DispatchHTTP
internal import DispatchRPC
internal import Encodings
internal import Synchronization
internal import TouchstoneConsole
internal import TouchstoneCrypto
internal import TouchstoneService

/// The routes of a service. All but the console's and the methods' read what is in memory, and answer at once.
struct HTTPRoutes {
  /// Shared caches may keep the keys for so long. A new key is published an hour before it signs (`keys rotate --after
  /// 1h`), so that caches have it in time if replicas load it within 55 minutes; and a removed one is gone from them as
  /// soon.
  static let keysMaximumAge = 300

  static let keysPath = "/.well-known/jwks.json"
  static let configurationPath = "/.well-known/openid-configuration"
  static let authorizationPath = "/authorize"
  static let tokenPath = "/token"

  private static let neverStored = "no-store"

  let service: TouchstoneService
  let issuer: String
  let metrics: RenderedMetrics
  let console: Console
  /// For the calls of the address that serves the methods.
  let callMeters: CallMeters

  /// - Parameters:
  ///   - name: of the address's host, as the configuration has it.
  ///   - loop: of the address.
  func router(for parts: Set<HTTPPart>, at name: String?, on loop: EventLoop) -> HTTPRouter {
    var router = HTTPRouter()
    addHealth(to: &router)
    if parts.contains(.everybody) {
      addKeys(to: &router)
      ConnectRoutes(
        service: service, loop: loop, meters: LoopConfined(callMeters, on: loop), gzip: LoopConfined(Gzip(), on: loop),
        takesLocalCallers: parts.contains(.operators), hostName: name
      ).add(to: &router)
    }
    if parts.contains(.operators) {
      addMetrics(to: &router, at: name)
      console.addRoutes(to: &router)
    }
    return router
  }

  // MARK: Health

  /// On every address, so that probes may use the one that strangers do not reach.
  private func addHealth(to router: inout HTTPRouter) {
    router.get("/livez") { _ in .text(.ok, "alive") }
    router.get("/readyz") { [service] _ in
      service.isServing ? .text(.ok, "serving") : .text(.unavailable, "not serving")
    }
  }

  // MARK: Keys

  private func addKeys(to router: inout HTTPRouter) {
    router.get(Self.keysPath) { [service] request in
      Self.cacheable(Array(service.publishedKeys.utf8), type: "application/jwk-set+json", for: request)
    }
    router.get(Self.configurationPath) { [issuer, base = Self.base(ofIssuer: issuer)] request in
      if let base {
        return Self.cacheable(Self.configuration(issuer: issuer, base: base), type: "application/json", for: request)
      }
      guard let host = request.head.host, !host.isEmpty else {
        return .text(.badRequest, "the request names no host, and the issuer is no URL")
      }
      // The client chose the name, so no cache may hand it to others.
      let own = "\(request.isEncrypted ? "https" : "http")://\(host)"
      return HTTPResponse(
        fields: [("Content-Type", "application/json"), ("Cache-Control", Self.neverStored)],
        body: Self.configuration(issuer: issuer, base: own))
    }
    router.get(Self.authorizationPath) { _ in Self.nothingToRequest }
    router.add("POST", Self.tokenPath, maximumBodyBytes: Self.maximumTokenRequestBytes) { _, exchange in
      var error = JSONObjectWriter()
      error.write("error", "unsupported_grant_type")
      error.write("error_description", Self.refusal)
      exchange.answer(
        HTTPResponse(
          .badRequest, fields: [("Content-Type", "application/json"), ("Cache-Control", Self.neverStored)],
          body: error.finish()))
    }
  }

  /// A client that takes the service for an OpenID Provider sends a code and a secret: read, so that its answer is not
  /// lost.
  private static let maximumTokenRequestBytes = 8 << 10
  private static let refusal =
    "this service issues tokens to its callers alone, by the methods of its API"
  private static var nothingToRequest: HTTPResponse { .text(.badRequest, "unsupported_response_type: \(refusal)") }

  /// For verifiers of tokens, with every member that OpenID Connect Discovery 1.0 §3 requires. Both endpoints exist and
  /// refuse every request, as those of a provider without clients do; "none" stands there because a list without
  /// elements may not. RS256, which §3 also wants named, would be false.
  private static func configuration(issuer: String, base: String) -> [UInt8] {
    var configuration = JSONObjectWriter()
    configuration.write("issuer", issuer)
    configuration.write("authorization_endpoint", base + authorizationPath)
    configuration.write("token_endpoint", base + tokenPath)
    configuration.write("jwks_uri", base + keysPath)
    configuration.write("response_types_supported", ["none"])
    configuration.write("subject_types_supported", ["public"])
    configuration.write("id_token_signing_alg_values_supported", ["ES256"])
    return configuration.finish()
  }

  /// Returns the URL under which the issuer publishes its documents; `nil`: the issuer is no URL.
  static func base(ofIssuer issuer: String) -> String? {
    guard issuer.hasPrefix("https://") || issuer.hasPrefix("http://"), !issuer.contains(where: { "?#".contains($0) })
    else {
      return nil
    }
    return issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
  }

  /// With its tag, by which a client that has it already gets nothing but its headers.
  private static func cacheable(_ body: [UInt8], type: String, for request: HTTPRequest) -> HTTPResponse {
    let tag = "\"\(Base64URL.encode(sha256(body)))\""
    var response = HTTPResponse(
      fields: [("ETag", tag), ("Cache-Control", "public, max-age=\(keysMaximumAge)")])
    guard !EntityTag.isKnown(tag, to: request.head) else {
      response.status = .notModified
      return response
    }
    response.fields.append(("Content-Type", type))
    response.body = body
    return response
  }

  // MARK: Metrics

  private func addMetrics(to router: inout HTTPRouter, at name: String?) {
    router.get("/metrics") { [metrics] request in
      guard !Self.mayBeRebound(request, at: name) else {
        return .text(.forbidden, "on this machine metrics are served at an address or localhost, not at another name")
      }
      return HTTPResponse(
        fields: [
          ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"), ("Cache-Control", Self.neverStored),
        ], body: metrics.text(at: .now()))
    }
  }

  /// Whether a browser on this machine may have sent the request for a page of another site, whose name leads here (DNS
  /// rebinding). Over TLS the certificate would not fit that name. Clients beyond this machine may use any name, as
  /// monitoring in plaintext does.
  static func mayBeRebound(_ request: HTTPRequest, at name: String?) -> Bool {
    guard request.client.isLoopback, !request.isEncrypted, !request.head.hostIsAddress else { return false }
    // Browsers always send a host.
    guard let host = request.head.hostName else { return false }
    return host != name?.lowercased()
  }
}

/// The text of all metrics for scrapes, rendered at most once a second.
final class RenderedMetrics: Sendable {
  /// Monitoring scrapes every 15 s or more seldom. Without a bound, clients that scrape without a pause keep a core
  /// busy.
  static let interval = Duration.seconds(1)

  private struct Rendering {
    var text: [UInt8]
    var time: MonotonicTime
  }

  private let render: @Sendable () -> String
  private let last = Mutex<Rendering?>(nil)

  /// - Parameter render: returns the text, as Prometheus reads it. It must not block.
  init(_ render: @escaping @Sendable () -> String) {
    self.render = render
  }

  /// Two addresses that scrape at one time share the rendering, too.
  func text(at now: MonotonicTime) -> [UInt8] {
    last.withLock { last in
      if let last, last.time.duration(to: now) < Self.interval { return last.text }
      let rendering = Rendering(text: Array(render().utf8), time: now)
      last = rendering
      return rendering.text
    }
  }
}
