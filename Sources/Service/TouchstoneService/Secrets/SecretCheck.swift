// One check of a passcode or a gesture: counted, then verified, then settled (R14). See SecretChecks.swift for what frees
// turn and place where a phase fails.

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// A check of a secret. An attempt in an evaluation and a change by the old secret each implement it in their own way.
protocol SecretCheck: Sendable {
  associatedtype Response: WireMessage
  /// The records that the check decides on.
  associatedtype Holder: Sendable
  associatedtype Verdict: Sendable

  var service: TouchstoneService { get }
  var exchange: Exchange<Response> { get }
  /// Passcode or gesture.
  var kind: Factor { get }

  func read(then body: @escaping @Sendable (Holder) throws(RequestError) -> Void)

  func target(of holder: Holder) -> SecretTarget

  /// The failure to count before the secret is verified. `nil`: it may not be verified, and the turn waits or is over.
  func admit(_ holder: Holder, in turn: SecretTurn, _ round: DecisionRound) -> CountedFailure?

  /// Hashes, in a place.
  func verify(against target: SecretTarget, with hasher: any SecretHasher) throws(CryptoError) -> Verdict

  func isRight(_ verdict: Verdict) -> Bool

  /// Commits what the verdict changes, answers, and ends the turn.
  func settle(_ checked: CheckedSecret<Verdict>, on holder: Holder, in turn: SecretTurn, _ round: DecisionRound)
}

/// The secret that is verified.
struct SecretTarget: Sendable, Equatable {
  var name: SecretName
  /// `nil`: no attempt matches, and a dummy is verified in its place.
  var verifier: [UInt8]?
  /// False: the attempts count at the name (R37).
  var isCountedInProfile: Bool
}

struct CountedFailure: Sendable {
  var reservation: SecretAdmission.Reservation
  var standing: SecretStanding
  var holder: SecretHolder
  var changes: [Change]
}

struct CheckedSecret<Verdict: Sendable>: Sendable {
  var target: SecretTarget
  var reservation: SecretAdmission.Reservation
  var verdict: Verdict
}

extension SecretCheck {
  private var checks: SecretChecks { service.secretChecks }

  func start() {
    exchange.deciding { round in start(in: round) }
  }

  /// The first read is for the secret's name alone: what is decided on is read in a turn at it.
  private func start(in round: DecisionRound) {
    read { holder throws(RequestError) in
      let name = target(of: holder).name
      try exchange.takeTurn(at: name, of: checks.gate) { turn in count(name, in: turn, round) }
    }
  }

  /// The secret may change under the check more than once.
  private func anew(after round: DecisionRound) -> DecisionRound {
    round.retrying { round in start(in: round) }
  }

  /// - Parameter place: `nil`: one is asked for when the secret may be verified.
  private func count(_ name: SecretName, in turn: SecretTurn, _ round: DecisionRound, with place: SecretPlace? = nil) {
    read { holder throws(RequestError) in
      let target = target(of: holder)
      let anew = anew(after: round)
      guard target.name == name else { return try anew.again() }
      guard let counted = admit(holder, in: turn, anew) else { return }
      let kept = try exchange.place(place, forAttemptAt: name, in: turn, of: checks) { turn, place in
        count(name, in: turn, round, with: place)
      }
      guard let kept else { return }
      service.commit(
        ChangeSet(changes: counted.changes), in: round.retrying { round in count(name, in: turn, round, with: kept) },
        for: exchange
      ) {
        service.unknownNames.note(counted.standing, of: kind, in: counted.holder, by: exchange.caller)
        turn.end()
        // Not `round`, which keeps turn and place after a conflict.
        verify(target, counted.reservation, in: kept, anew)
      }
    }
  }

  private func verify(
    _ target: SecretTarget, _ reservation: SecretAdmission.Reservation, in place: SecretPlace, _ round: DecisionRound
  ) {
    exchange.work(in: place) { verdict in
      let checked = CheckedSecret(target: target, reservation: reservation, verdict: verdict)
      exchange.takeTurnWithVerdict(at: target.name, of: checks.gate) { turn in settle(checked, in: turn, round) }
    } _: { [hasher = checks.hasher] () throws(CryptoError) in
      try verify(against: target, with: hasher)
    }
  }

  /// Settles a verdict, which is about the secret that it was checked against. If another secret was set meanwhile (or
  /// the same one hashed anew), the check begins again, and the attempt counts at the new one. The record that counted
  /// it first is settled too, so that the attempt does not stay in flight there.
  private func settle(_ checked: CheckedSecret<Verdict>, in turn: SecretTurn, _ round: DecisionRound) {
    read { holder throws(RequestError) in
      let again = round.retrying { round in settle(checked, in: turn, round) }
      guard target(of: holder) != checked.target else { return settle(checked, on: holder, in: turn, again) }
      service.profile(checked.target.name.profile, for: exchange) { counted throws(RequestError) in
        guard let returned = returned(checked, to: counted) else { return try beginAgain(after: round, turn) }
        service.commit(
          ChangeSet(changes: [returned.change ?? .require(counted), .asMuchAsAnyCount]), in: again, for: exchange
        ) {
          service.unknownNames.note(returned.standing, of: kind, in: returned.holder, by: exchange.caller)
          exchange.refusingErrors { () throws(RequestError) in try beginAgain(after: round, turn) }
        }
      }
    }
  }

  private func beginAgain(after round: DecisionRound, _ turn: SecretTurn) throws(RequestError) {
    turn.end()
    try anew(after: round).again()
  }

  /// The change to what counted the attempt; `nil`: it stays as it is.
  private func returned(
    _ checked: CheckedSecret<Verdict>, to counted: ProfileRecord
  ) -> (change: Change?, standing: SecretStanding, holder: SecretHolder)? {
    let holder: SecretHolder
    let standing: SecretStanding
    var isRight = false
    if checked.target.isCountedInProfile {
      guard counted.version > 0, let secret = counted.secret(kind) else { return nil }
      holder = .profile(counted)
      standing = secret.standing
      isRight = self.isRight(checked.verdict) && secret.verifier == checked.target.verifier
    } else {
      let name = service.unknownNames.name(of: counted)
      guard let count = name.standing(of: kind) else { return nil }
      holder = .name(name)
      standing = count
    }
    let settled = SecretRules.settle(standing, checked.reservation, isRight: isRight)
    guard settled != standing else { return nil }
    return (holder.change(to: settled, of: kind, at: service.clock()), settled, holder)
  }
}
