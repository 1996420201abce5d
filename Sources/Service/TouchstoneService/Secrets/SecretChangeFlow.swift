// Setting, changing and removing a passcode or a gesture (R16): by the old one, which is an attempt at it (R14), or by
// the caller's own login.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The response that SetSecret and RemoveSecret have in common.
protocol SecretChangeResponse: WireMessage {
  init(accepted: Bool, denial: V1.Denial?, attemptsLeft: UInt32)
}

extension V1.SetSecretResponse: SecretChangeResponse {}
extension V1.RemoveSecretResponse: SecretChangeResponse {}

/// The authority that the caller sends to show that the secret may be changed.
enum OfferedAuthority: Sendable {
  case oldSecret(OfferedSecret)
  case primary(authenticatedAt: UnixTime)

  var auditName: String {
    switch self {
    case .oldSecret: "old_secret"
    case .primary: "primary"
    }
  }
}

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
  let authority: OfferedAuthority

  private var checks: SecretChecks { service.secretChecks }

  func start() throws(RequestError) {
    switch decision() {
    case .verify(let secret): OldSecretCheck(flow: self, secret: secret).start()
    case .allow: try changeByPrimary()
    case .refuse:
      exchange.deciding { round in
        service.profile(profile, for: exchange) { record in refuseOldLogin(record, round) }
      }
    }
  }

  private func decision() -> SecretChange<OfferedSecret> {
    switch authority {
    case .oldSecret(let secret):
      SecretChange.decide(.oldSecret(secret))
    case .primary(let authenticatedAt):
      SecretChange.decide(
        .primary(service.configuration.enrolment.primaryVerdict(authenticatedAt: authenticatedAt, now: service.clock()))
      )
    }
  }

  private func refuseOldLogin(_ record: ProfileRecord, _ round: DecisionRound) {
    let reason = RequestError.Reason.primaryAuthenticationTooOld
    let event = EventDraft.secret(
      .refused, kind, record.eventName, authority: authority.auditName, reason: reason, caller: exchange.caller,
      time: service.clock())
    service.record(
      ThrottledEvent(event, about: profile.profileID, on: [.require(record)]), in: round, for: exchange
    ) { () throws(RequestError) in
      throw .failedPrecondition(reason, "the person must log in again", .primaryAuthenticationTooOld)
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
      // The login may have become too old while the change waited for its place and turn.
      guard case .allow = decision() else { return refuseOldLogin(record, round) }
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
      if case .oldSecret = authority { service.meters.oldSecrets.count(.right, of: kind) }
      turn.endWithVerdict()
      exchange.answer(Response(accepted: true, denial: nil, attemptsLeft: 0))
    }
  }
}
