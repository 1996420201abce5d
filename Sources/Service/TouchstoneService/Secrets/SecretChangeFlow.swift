// Setting, changing and removing a passcode or a gesture (R16): by the old one, which is an attempt at it (R14), or by
// the caller's own login.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// What SetSecret and RemoveSecret answer alike.
protocol SecretChangeResponse: WireMessage {
  init(accepted: Bool, denial: V1.Denial?, attemptsLeft: UInt32)
}

extension V1.SetSecretResponse: SecretChangeResponse {}
extension V1.RemoveSecretResponse: SecretChangeResponse {}

/// One change on its way. Every step runs on the call's event loop; see SecretChecks.swift for what frees turn and place
/// where one fails.
struct SecretChangeFlow<Response: SecretChangeResponse>: Sendable {
  let service: TouchstoneService
  let exchange: Exchange<Response>
  let profile: ProfileName
  /// Passcode or gesture.
  let kind: Factor
  /// `nil`: it is removed.
  let newSecret: SecretBytes?
  let authority: Authority

  enum Authority: Sendable {
    case oldSecret(SecretBytes)
    /// Fresh.
    case primary

    var auditName: String {
      switch self {
      case .oldSecret: "old_secret"
      case .primary: "primary"
      }
    }
  }

  private var checks: SecretChecks { service.secretChecks }

  func start() throws(RequestError) {
    switch authority {
    case .oldSecret(let secret): OldSecretCheck(flow: self, secret: secret).start()
    case .primary: try changeByPrimary()
    }
  }

  // MARK: By primary authentication

  /// In the secret's turn like a verdict: no flood of attempts keeps its owner from setting it anew.
  private func changeByPrimary() throws(RequestError) {
    let name = SecretName(applicationID: profile.applicationID, profileID: profile.profileID, kind: kind)
    try exchange.withPlace(forChangeOf: name, of: checks) { place in
      guard let newSecret else {
        // Removing hashes nothing, and keeps a place all the same: so there are no more such turns than places.
        return exchange.takeTurnWithVerdict(at: name, of: checks.gate) { turn in
          exchange.deciding { round in apply(nil, in: turn, keeping: place, round) }
        }
      }
      exchange.makeVerifier(of: newSecret, name, in: place, hasher: checks.hasher) { verifier in
        exchange.takeTurnWithVerdict(at: name, of: checks.gate) { turn in
          exchange.deciding { round in apply(verifier, in: turn, round) }
        }
      }
    }
  }

  private func apply(
    _ verifier: [UInt8]?, in turn: SecretTurn, keeping place: SecretPlace? = nil, _ round: DecisionRound
  ) {
    service.profile(profile, for: exchange) { record in
      // Removing what is not there changes nothing.
      guard verifier != nil || record.secret(kind)?.standing.isSet == true else {
        return service.confirm(for: exchange) {
          exchange.answer(Response(accepted: true, denial: nil, attemptsLeft: 0))
        }
      }
      commitChange(of: record, verifier, in: turn, round)
    }
  }

  func commitChange(
    of record: ProfileRecord, _ verifier: [UInt8]?, in turn: SecretTurn, _ round: DecisionRound
  ) {
    let now = service.clock()
    var changed = record
    if let verifier {
      changed.setSecret(kind, verifier: verifier, at: now)
    } else {
      changed.eraseSecret(kind, at: now)
    }
    let event = EventDraft.secret(
      verifier == nil ? .removed : .set, kind, profile, authority: authority.auditName, caller: exchange.caller,
      time: now)
    service.commit(ChangeSet(changes: [.putProfile(changed)], events: [event]), in: round, for: exchange) {
      turn.endWithVerdict()
      exchange.answer(Response(accepted: true, denial: nil, attemptsLeft: 0))
    }
  }
}
