// Whether a form was sent by one of the console's own pages. Pure.

internal import DispatchHTTP

enum RequestOrigin {
  /// Every browser of the last years sends one of the two fields with a form, and no page of another site can choose them
  /// (Fetch Standard; Fetch Metadata). A request with neither is refused.
  static func isOwn(_ head: HTTPRequestHead, isEncrypted: Bool) -> Bool {
    let origins = head.fields.values(of: "origin")
    let sites = head.fields.values(of: "sec-fetch-site")
    guard !origins.isEmpty || !sites.isEmpty, sites.allSatisfy({ $0 == "same-origin" }) else { return false }
    guard isBehindTLS(head, isEncrypted: isEncrypted) || head.hostIsAddress else { return false }
    return origins.isEmpty || origins.count == 1 && isOwn(origin: origins[0], head, isEncrypted: isEncrypted)
  }

  /// Whether the browser speaks TLS: with this process, or with a proxy on this machine, which the form's origin then shows.
  static func isBehindTLS(_ head: HTTPRequestHead, isEncrypted: Bool) -> Bool {
    isEncrypted || head.fields.values(of: "origin").first?.hasPrefix("https://") == true
  }

  /// On loopback the scheme may be https, too: a proxy on this machine may have ended TLS.
  private static func isOwn(origin: String, _ head: HTTPRequestHead, isEncrypted: Bool) -> Bool {
    guard let host = head.host, !host.isEmpty, let end = origin.range(ofScheme: isEncrypted) else { return false }
    return origin[end...].lowercased() == host.lowercased()
  }
}

extension String {
  /// The end of "https://", or of "http://" where that is allowed.
  fileprivate func range(ofScheme isEncrypted: Bool) -> String.Index? {
    for scheme in isEncrypted ? ["https://"] : ["http://", "https://"] where hasPrefix(scheme) {
      return index(startIndex, offsetBy: scheme.count)
    }
    return nil
  }
}
