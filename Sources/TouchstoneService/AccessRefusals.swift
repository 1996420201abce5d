// Calls that were refused for who makes them: what the caller is told, and what of it goes into the audit log.

internal import DispatchRPC
internal import TouchstonePolicy
internal import TouchstoneStore

extension AccessRefusal {
  /// Tells what is wrong with the credentials or the grants, and nothing of what is stored: it was not looked at. Nothing
  /// of it is for a person.
  var rpcError: RPCError { Self.rpcErrors[self] ?? RPCError(code: .permissionDenied, message: "") }

  /// Encoded once: refusing must cost less than asking.
  private static let rpcErrors = Dictionary(
    uniqueKeysWithValues: allCases.map { refusal in
      let error = RequestError(
        code: refusal.isUnauthenticated ? .unauthenticated : .permissionDenied, message: refusal.message,
        reason: refusal.rawValue)
      return (refusal, error.rpcError(in: .default))
    })

  private var message: String {
    switch self {
    case .credentialsMissing: "a client certificate or a key is needed"
    case .keyMalformed: "authorization must be \"Bearer\" and a key"
    case .keyUnknown: "the key is not known"
    case .keyInPlaintext: "a key was sent in plaintext: replace it, and use TLS"
    case .certificateUnknown: "the certificate names no known caller"
    case .certificateRefused: "the certificate was refused"
    case .certificateAmbiguous: "the certificate names more than one caller"
    case .credentialsDiffer: "the certificate and the key name different callers"
    case .methodNotGranted: "the caller may not call this method"
    case .applicationNotGranted: "the caller may not call this method for this application"
    }
  }
}

extension Caller {
  /// In events: nobody knows who it was.
  static let unknownName = "unknown"
}

extension EventDraft {
  /// Names no application: the caller has none to name, and its word would put events into another's log. Nothing in it is
  /// the caller's own text.
  ///
  /// - Parameter suppressed: how many like it had no event since the last one.
  static func refusedCall(
    _ refusal: AccessRefusal, _ caller: Caller?, by peer: RPCPeer, method: ServedMethods.Number?, suppressed: Int,
    time: UnixTime
  ) -> EventDraft {
    var details = [
      EventDetail(key: "peer", value: peer.auditName), EventDetail(key: "reason", value: refusal.rawValue),
    ]
    if let method {
      let method = ServedMethods.all[method]
      details.append(EventDetail(key: "method", value: "\(method.service)/\(method.name)"))
    }
    if suppressed > 0 { details.append(EventDetail(key: "suppressed", value: String(suppressed))) }
    return EventDraft(
      time: time, kind: "call.refused", applicationID: "", caller: caller?.identity ?? Caller.unknownName,
      details: details)
  }
}

extension RPCPeer {
  /// How it came, not from where: addresses are people's.
  fileprivate var auditName: String {
    switch (isEncrypted, certificate) {
    case (true, nil): "tls"
    case (true, _?): "mutual_tls"
    case (false, _): address.isUnix ? "unix" : address.isLoopback ? "loopback" : "plaintext"
    }
  }
}
