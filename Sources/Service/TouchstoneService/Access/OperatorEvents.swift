// The console's events beside calls: sign-ins, sign-outs, and attempts to get in.

internal import DispatchRPC
internal import TouchstonePolicy
internal import TouchstoneStore

/// Names the kind of the event.
package enum OperatorOccasion: String, Sendable {
  case signedIn = "operator.signed_in"
  case signedOut = "operator.signed_out"
}

extension CallerDefinition {
  /// An operator of the console. No caller of the configuration can have such a name, because none has a colon.
  package init(operator name: String, applications: ApplicationGrant, methods: [MethodGrant]) {
    self.init(name: Caller(operator: name).identity)
    self.applications = applications
    self.methods = methods
  }
}

extension Caller {
  private static let operatorPrefix = "operator:"

  init(operator name: String) {
    self.init(identity: Self.operatorPrefix + name)
  }

  static func isOperator(_ identity: String) -> Bool { identity.hasPrefix(operatorPrefix) }
}

extension EventDraft {
  static func operatorEvent(
    _ occasion: OperatorOccasion, _ caller: Caller, by peer: RPCPeer, time: UnixTime
  ) -> EventDraft {
    EventDraft(
      time: time, kind: occasion.rawValue, applicationID: "", caller: caller.identity,
      details: [EventDetail(key: "peer", value: peer.auditName)])
  }
}
