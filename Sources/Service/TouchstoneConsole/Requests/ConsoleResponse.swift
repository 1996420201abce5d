// Answers, with the fields that keep browsers from doing what no page of the console needs.

internal import DispatchHTTP

enum ConsoleResponse {
  /// No script, no frame, nothing from elsewhere. Forms go to the console alone.
  private static let policy =
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

  /// With the referrer of the console's own pages, without which browsers send forms with "Origin: null".
  private static let protection: [(name: StaticString, value: String)] = [
    ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()"),
  ]

  static func page(_ html: HTML, _ status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(
      status,
      fields: protection + [
        ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
        ("Vary", "Accept-Language, Cookie"),
      ], body: Array(html.text.utf8))
  }

  /// After a form, so that a reload of the page repeats nothing.
  ///
  /// - Parameter path: as the browser opens it.
  static func redirect(to path: String) -> HTTPResponse {
    HTTPResponse(.seeOther, fields: protection + [("Location", path), ("Cache-Control", "no-store")])
  }

  /// - Parameter name: under which the browser keeps it, instead of showing it.
  static func file(_ name: String, lines: [String]) -> HTTPResponse {
    HTTPResponse(
      fields: protection + [
        ("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"),
        ("Content-Disposition", "attachment; filename=\"\(name)\""),
      ], body: Array(lines.map { $0 + "\r\n" }.joined().utf8))
  }

  static func style(_ css: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      fields: protection + [("Content-Type", "text/css; charset=utf-8"), ("Cache-Control", "no-cache")], body: css)
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
  /// Several times as long as a session id.
  static let maximumBytes = 256
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

  static func endOfSession(isSecure: Bool) -> String {
    session("", isSecure: isSecure) + "; Max-Age=0"
  }

  static let languageName = "touchstone-console-language"

  /// - Parameter path: the console's in the browser.
  static func language(_ tag: String, path: String, isEncrypted: Bool) -> String {
    "\(languageName)=\(tag); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=31536000\(isEncrypted ? "; Secure" : "")"
  }
}
