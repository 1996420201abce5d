// Whether a form was sent by one of the console's own pages, and whether another site's page sent the browser here.
// Pure.

internal import DispatchHTTP

enum RequestOrigin {
  /// Every browser of the last years sends one of the two fields with a form, and no page of another site can choose
  /// them (Fetch Standard; Fetch Metadata). A request with neither is refused.
  ///
  /// - Parameter url: the console's, if a proxy may have changed the request's host.
  static func isOwn(_ head: HTTPRequestHead, isEncrypted: Bool, url: ConsoleURL? = nil) -> Bool {
    let origins = head.fields.values(of: "origin")
    let sites = head.fields.values(of: "sec-fetch-site")
    guard !origins.isEmpty || !sites.isEmpty, sites.allSatisfy({ $0 == "same-origin" }) else { return false }
    // A proxy in front of that URL may send any Host.
    if let url, origins.count == 1, url.isOrigin(origins[0]) { return true }
    guard isBehindTLS(head, isEncrypted: isEncrypted) || head.hostIsAddress else { return false }
    return origins.isEmpty || origins.count == 1 && isOwn(origin: origins[0], head, isEncrypted: isEncrypted)
  }

  /// Whether the browser speaks TLS: with this process, or with a proxy on this machine, which the form's origin then
  /// shows.
  static func isBehindTLS(_ head: HTTPRequestHead, isEncrypted: Bool) -> Bool {
    isEncrypted || head.fields.values(of: "origin").first?.hasPrefix("https://") == true
  }

  /// Whether a page of another site led the browser here, so that it left out cookies with SameSite=Strict. If the
  /// browser opens the page anew from one of ours, it sends them.
  static func isLinkOfOtherSite(_ head: HTTPRequestHead) -> Bool {
    let sites = head.fields.values(of: "sec-fetch-site")
    let modes = head.fields.values(of: "sec-fetch-mode")
    return sites == ["cross-site"] && modes.allSatisfy { $0 == "navigate" }
  }

  /// On loopback the scheme may be https, too: a proxy on this machine may have ended TLS.
  private static func isOwn(origin: String, _ head: HTTPRequestHead, isEncrypted: Bool) -> Bool {
    for scheme in isEncrypted ? [HTTPAuthority.Scheme.https] : [.http, .https] {
      guard let sender = HTTPAuthority(origin: origin, scheme) else { continue }
      return head.host.flatMap { HTTPAuthority($0) }.map { sender.isSame(as: $0, scheme: scheme) } ?? false
    }
    return false
  }
}

extension HTTPAuthority {
  /// `nil` if the origin has another scheme.
  fileprivate init?(origin: String, _ scheme: Scheme) {
    guard origin.hasPrefix(scheme.rawValue + "://") else { return nil }
    self.init(origin.dropFirst(scheme.rawValue.count + 3))
    if host.isEmpty { return nil }
  }
}

extension ConsoleURL {
  fileprivate func isOrigin(_ origin: String) -> Bool {
    HTTPAuthority(origin: origin, scheme)?.isSame(as: authority, scheme: scheme) ?? false
  }
}
