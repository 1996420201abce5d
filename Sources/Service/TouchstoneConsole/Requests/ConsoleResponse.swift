// Answers, with the fields that keep browsers from doing what no page of the console needs.

internal import DispatchHTTP

enum ConsoleResponse {
  /// No script, no frame, nothing from elsewhere. Forms go to the console alone.
  private static let policy =
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
  /// For the pages that ask for a passkey: the console's one script, too.
  private static let policyWithScript = policy + "; script-src 'self'"

  /// With the referrer of the console's own pages, without which browsers send forms with "Origin: null".
  private static let protection: [(name: StaticString, value: String)] = [
    ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()"),
  ]

  static func page(_ page: Page, for reader: Reader, _ status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(
      status,
      fields: protection + [
        ("Content-Security-Policy", page.hasScript ? policyWithScript : policy),
        ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
        ("Vary", "Accept-Language, Cookie"),
      ], body: Array(page.html(for: reader).text.utf8))
  }

  /// After a form, so that a reload of the page repeats nothing.
  ///
  /// - Parameter path: as the browser opens it.
  static func redirect(to path: String) -> HTTPResponse {
    HTTPResponse(
      .seeOther,
      fields: protection + [("Content-Security-Policy", policy), ("Location", path), ("Cache-Control", "no-store")])
  }

  /// - Parameter name: under which the browser keeps it, instead of showing it.
  static func file(_ name: String, lines: [String]) -> HTTPResponse {
    var response = file(Array(lines.map { $0 + "\r\n" }.joined().utf8), "plain", kept: "no-store")
    response.fields.append(("Content-Disposition", "attachment; filename=\"\(name)\""))
    return response
  }

  static func file(_ bytes: [UInt8], _ type: String, kept: String = "no-cache") -> HTTPResponse {
    HTTPResponse(
      fields: protection + [
        ("Content-Security-Policy", policy), ("Content-Type", "text/\(type); charset=utf-8"), ("Cache-Control", kept),
      ], body: bytes)
  }
}

extension HTTPResponse {
  /// From now on the browser speaks TLS alone with this name, at every port of it (RFC 6797). Browsers ignore the field
  /// in plaintext and for an address.
  mutating func requireTLS() {
    fields.append(("Strict-Transport-Security", "max-age=31536000"))
  }
}

/// The console's cookies. If the browser speaks TLS, their names bind them to this host, and to TLS (RFC 6265bis
/// §4.1.3).
enum ConsoleCookie {
  /// Twice as long as a session's longest.
  static let maximumBytes = 2_048
  /// `BrowserProofs.maximumPerBrowser` proofs of 75 characters, with a separator between two.
  static let maximumBrowserBytes = 4 * 75 + 3

  private static let sessionName = "touchstone-console"
  private static let browserName = "touchstone-console-browser"

  /// Browsers refuse the mark Secure from a page in plaintext, which loopback alone has.
  ///
  /// - Parameter isSecure: the browser speaks TLS, with this process or with a proxy on this machine.
  private static func bound(_ name: String, _ value: String, isSecure: Bool) -> String {
    "\(isSecure ? "__Host-" : "")\(name)=\(value); Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
  }

  /// The value as it was sent. If both names are there, a page in plaintext may have set the other one.
  private static func value(of name: String, in request: HTTPRequest) -> (value: String, isSecure: Bool)? {
    if let value = request.head.cookie("__Host-" + name) { return (value, true) }
    guard !request.isEncrypted else { return nil }
    return request.head.cookie(name).map { ($0, false) }
  }

  static func session(_ id: String, isSecure: Bool) -> String { bound(sessionName, id, isSecure: isSecure) }

  static func session(in request: HTTPRequest) -> (id: String, isSecure: Bool)? {
    value(of: sessionName, in: request).map { ($0.value, $0.isSecure) }
  }

  /// - Parameter proofs: of `BrowserProofs`.
  static func browser(_ proofs: String, isSecure: Bool) -> String {
    bound(browserName, proofs, isSecure: isSecure) + "; Max-Age=\(BrowserProofs.lifetime.components.seconds)"
  }

  static func browser(in request: HTTPRequest) -> String? { value(of: browserName, in: request)?.value }

  /// Whether the response begins, renews or ends a session.
  static func isSetting(_ response: HTTPResponse) -> Bool {
    response.fields.contains { $0.value.hasPrefix(sessionName + "=") || $0.value.hasPrefix("__Host-\(sessionName)=") }
  }

  static func endOfSession(isSecure: Bool) -> String {
    session("", isSecure: isSecure) + "; Max-Age=0"
  }

  private static let openIDName = "touchstone-console-oidc"

  /// Lax: the browser sends it when the provider's page leads back, and to that path alone.
  static func openID(_ value: String, path: String, isSecure: Bool) -> String {
    let age = value.isEmpty ? 0 : Console.openIDTime.components.seconds
    return
      "\(isSecure ? "__Secure-" : "")\(openIDName)=\(value); Path=\(path); HttpOnly; SameSite=Lax; Max-Age=\(age)\(isSecure ? "; Secure" : "")"
  }

  static func openID(in request: HTTPRequest, isSecure: Bool) -> String? {
    request.head.cookie((isSecure ? "__Secure-" : "") + openIDName).flatMap {
      $0.utf8.count <= maximumOpenIDBytes ? $0 : nil
    }
  }

  /// The page that comes after it may have 2,048 bytes.
  private static let maximumOpenIDBytes = 4_000

  static let languageName = "touchstone-console-language"
  static let offsetName = "touchstone-console-offset"

  /// - Parameter path: the console's in the browser.
  static func choice(_ name: String, _ value: String, path: String, isEncrypted: Bool) -> String {
    "\(name)=\(value); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=31536000\(isEncrypted ? "; Secure" : "")"
  }
}
