// Calls that were refused because of their caller: the answer, and its event in the audit log.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstonePolicy
internal import TouchstoneStore

extension AccessRefusal {
  /// Says what is wrong with the credentials or the grants. The store was not read, so the answer shows nothing of it.
  /// It has no message for a person.
  var rpcError: RPCError { Self.rpcErrors[self] ?? RPCError(code: .permissionDenied, message: "") }

  /// Encoded once: a refusal must cost the service less than the call costs the caller.
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
    case .keyMalformed: "authorization must be \"Bearer\", a space and a key"
    case .keyUnknown: "the key is not known"
    case .keyInPlaintext: "a key was sent in plaintext: replace it, and use TLS"
    case .certificateUnknown: "the certificate names no known caller"
    case .certificateRefused: "the certificate was refused"
    case .certificateAmbiguous: "the certificate names more than one caller"
    case .credentialsDiffer: "the certificate and the key name different callers"
    case .operatorPasswordWrong: "the operator's name or password is wrong"
    case .operatorPasskeyWrong: "the operator's passkey is missing or wrong"
    case .operatorProviderRefused: "the identity provider's answer does not hold"
    case .operatorProviderUnreachable: "the identity provider does not answer"
    case .operatorRoleMissing: "the identity provider names no group with a role"
    case .operatorLocked: "the operator's sign-in is locked"
    case .operatorSessionForged: "the operator's session is not genuine"
    case .operatorSessionMoved: "the operator's session came from another address"
    case .operatorRequestForged: "the operator's form is not genuine"
    case .methodNotGranted: "the caller may not call this method"
    case .applicationNotGranted: "the caller may not call this method for this application"
    }
  }
}

extension Caller {
  /// The caller's name in events if it was not identified.
  static let unknownName = "unknown"
}

extension EventDraft {
  /// Names no application: the caller has no application granted, and could otherwise put events into another's log.
  /// The event holds no text of the caller.
  ///
  /// - Parameters:
  ///   - claimedOperator: the name of an operator that was given, and not proven.
  ///   - suppressed: the number of similar refusals without an event since the previous event.
  static func refusedCall(
    _ refusal: AccessRefusal, _ caller: Caller?, by peer: RPCPeer, method: MethodDescriptor.Number?,
    claimedOperator: String? = nil, suppressed: Int, time: UnixTime
  ) -> EventDraft {
    var details = [
      EventDetail(key: "peer", value: peer.auditName), EventDetail(key: "reason", value: refusal.rawValue),
    ]
    if let method {
      let method = MethodDescriptor.all[method]
      details.append(EventDetail(key: "method", value: "\(method.service)/\(method.name)"))
    }
    if let claimedOperator { details.append(EventDetail(key: "operator", value: claimedOperator)) }
    if suppressed > 0 { details.append(.suppressed(suppressed)) }
    return EventDraft(
      time: time, kind: "call.refused", applicationID: "", caller: caller?.identity ?? Caller.unknownName,
      details: details)
  }
}

extension RPCPeer {
  /// The kind of connection, without its address: addresses are personal data.
  var auditName: String {
    switch (isEncrypted, certificate) {
    case (true, nil): "tls"
    case (true, _?): "mutual_tls"
    case (false, _): address.isUnix ? "unix" : address.isLoopback ? "loopback" : "plaintext"
    }
  }
}
