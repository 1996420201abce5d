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
  static func redirect(to path: String) -> HTTPResponse {
    HTTPResponse(.seeOther, fields: protection + [("Location", path), ("Cache-Control", "no-store")])
  }

  static func style(_ css: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      fields: protection + [("Content-Type", "text/css; charset=utf-8"), ("Cache-Control", "no-cache")], body: css)
  }
}

/// The console's cookies. If the browser speaks TLS, their names bind them to this host, and to TLS (RFC 6265bis §4.1.3).
enum ConsoleCookie {
  /// Several times as long as a session id.
  static let maximumBytes = 256

  private static func sessionName(isSecure: Bool) -> String {
    isSecure ? "__Host-touchstone-console" : "touchstone-console"
  }

  /// Browsers refuse the mark Secure from a page in plaintext, which loopback alone has.
  ///
  /// - Parameter isSecure: the browser speaks TLS, with this process or with a proxy on this machine.
  static func session(_ id: String, isSecure: Bool) -> String {
    "\(sessionName(isSecure: isSecure))=\(id); Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
  }

  /// The session's id as it was sent. If both names are there, a page in plaintext may have set the other one.
  static func session(in request: HTTPRequest) -> (id: String, isSecure: Bool)? {
    if let id = request.head.cookie(sessionName(isSecure: true)) { return (id, true) }
    guard !request.isEncrypted else { return nil }
    return request.head.cookie(sessionName(isSecure: false)).map { ($0, false) }
  }

  static func endOfSession(isSecure: Bool) -> String {
    session("", isSecure: isSecure) + "; Max-Age=0"
  }

  static let languageName = "touchstone-console-language"

  static func language(_ tag: String, isEncrypted: Bool) -> String {
    "\(languageName)=\(tag); Path=/console; HttpOnly; SameSite=Strict; Max-Age=31536000\(isEncrypted ? "; Secure" : "")"
  }
}
