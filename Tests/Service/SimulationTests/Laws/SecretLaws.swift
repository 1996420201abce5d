// The laws of every change to a passcode's or gesture's standing (R13–R17).

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

extension Laws {
  func check(_ new: ProfileRecord, replacing old: ProfileRecord) {
    if old.version == 0 { world.ledger.noteBeginning(new.applicationID, new.profileID, at: world.time.step) }
    for case .requireBinding(let id, _) in changeSet.changes where before.binding(id)?.isRevoked == true {
      // The verdict on one that was counted before the revocation is settled.
      let counts = [Factor.passcode, .gesture].contains { new.failures(of: $0) > old.failures(of: $0) }
      require(!counts, "R10", "a revoked binding's attempt counts on its profile")
    }
    for kind in [Factor.passcode, .gesture] { check(new.secret(kind), replacing: old.secret(kind), kind) }
    guard new.settings != old.settings else { return }
    require(has("settings.changed", "secret.set", "secret.removed"), "R41", "settings changed without an event")
  }

  private func check(_ new: SecretRecord?, replacing old: SecretRecord?, _ kind: Factor) {
    guard new != old else { return }
    let before = old?.standing ?? SecretStanding()
    let after = new?.standing ?? SecretStanding()
    require(after.generation >= before.generation, "R14", "a \(kind) went back a generation")
    if has("secret.set", "secret.removed", "settings.changed") { return }
    require(before.isSet == after.isSet, "R16", "a \(kind) was set or erased by nobody")
    let isRight = old.map { old in causes.contains { $0.knows(old, kind, by: world.ledger) } } ?? false
    if let new, let old, new.verifier != old.verifier {
      let isSame = world.ledger.secret(of: new.verifier) == world.ledger.secret(of: old.verifier)
      require(isRight && isSame, "R16", "a \(kind)'s verifier changed by itself")
    }
    if after.generation > before.generation {
      require(isRight || has("secret.unlocked"), "R14", "a \(kind)'s failures were taken back by nobody")
    } else if after.failures > before.failures {
      checkAdmission(from: before, to: after, kind)
    } else {
      require(after.failures == before.failures, "R14", "a \(kind)'s failures were forgotten")
      require(after.lock == before.lock, "R15", "a \(kind)'s lock changed by itself")
      require(after.inFlight <= before.inFlight, "R14", "a \(kind)'s verdict counts as an attempt")
    }
  }

  /// Phase one of an attempt.
  private func checkAdmission(from before: SecretStanding, to after: SecretStanding, _ kind: Factor) {
    require(causes.contains { $0.triesSecret(kind) }, "cause", "nobody tries the \(kind) that is counted")
    require(after.failures == before.failures + 1, "R14", "a \(kind)'s attempt is counted \(after.failures) times")
    require(after.inFlight > 0, "R14", "an admitted \(kind) is not in flight")
    let latest = world.time.latest(since: causes.compactMap(\.dispatchedStep).min() ?? 0)
    let earliest = world.time.earliest(since: causes.compactMap(\.dispatchedStep).min() ?? 0)
    switch before.lock {
    case .none: break
    case .until(let end): require(end <= latest, "R13", "a \(kind) is tried while it is locked")
    case .untilSetAnew: world.report("R13", "a \(kind) is tried though it is disabled")
    }
    switch (Ladder.standard.effect(after: after.failures), after.lock) {
    case (nil, _), (_, .untilSetAnew): break
    case (.lock(let duration), .until(let end)):
      require(end >= earliest + duration, "R13", "\(after.failures) failures lock a \(kind) for too short a time")
    default: world.report("R13", "\(after.failures) failures do not lock a \(kind)")
    }
    if case (.until(let old), .until(let new)) = (before.lock, after.lock) {
      require(new >= old, "R15", "a \(kind)'s lock was shortened")
    }
  }
}

extension ProfileRecord {
  func secret(_ kind: Factor) -> SecretRecord? { kind == .gesture ? gesture : passcode }

  fileprivate func failures(of kind: Factor) -> UInt32 { secret(kind)?.standing.failures ?? 0 }
}

extension Ladder {
  fileprivate func effect(after failures: UInt32) -> Effect? { rungs.last { $0.failures <= failures }?.effect }
}

extension Call {
  /// In an evaluation, or as the old one of a change.
  fileprivate func triesSecret(_ kind: Factor) -> Bool { triedSecret(kind) != nil }

  /// The very one that is set.
  fileprivate func knows(_ record: SecretRecord, _ kind: Factor, by ledger: Ledger) -> Bool {
    guard let secret = triedSecret(kind) else { return false }
    return ledger.secret(of: record.verifier)?.bytes == secret
  }

  private func triedSecret(_ kind: Factor) -> [UInt8]? {
    switch request {
    case let request as V1.SubmitAttemptRequest: request.attempt?.secret(kind)
    case let request as V1.SetSecretRequest:
      if case .oldSecret(let old) = request.authority, old.factor == kind { old.bytes } else { nil }
    case let request as V1.RemoveSecretRequest:
      if case .oldSecret(let old) = request.authority, old.factor == kind { old.bytes } else { nil }
    default: nil
    }
  }
}

extension V1.SubmitAttemptRequest.Attempt {
  fileprivate func secret(_ kind: Factor) -> [UInt8]? {
    switch self {
    case .passcode(let proof) where kind == .passcode: Array(proof.passcode.utf8)
    case .gesture(let proof) where kind == .gesture: proof.points.map { UInt8(truncatingIfNeeded: $0) }
    default: nil
    }
  }
}
