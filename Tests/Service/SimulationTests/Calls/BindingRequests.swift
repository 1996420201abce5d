// Bindings: a ticket, its completion, what is known of them, their end.

import Encodings
import StoreModel
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

extension V1.BeginBindingRequest: Request {
  static let method = "BindingService/BeginBinding"
  typealias Answer = V1.BeginBindingResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    event.kind == "binding.denied" && moment.changeSet.changesNothing
      && (event.isOf(applicationID, profileID) || event.isOf(applicationID, ""))
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    guard answer.denial == nil else {
      world.require(answer.ticket.isEmpty, "R28", "a denial gives a ticket")
      return world.requireEvent(of: call, "binding.denied", ofPerhapsUnknown: profileID, in: applicationID)
    }
    world.require(world.ledger.isNew(challenge: answer.challenge), "R33", "a challenge is used twice")
    world.require(answer.passkeyOptions.isEmpty == (passkey == nil), "R46", "options, or none, by mistake")
    world.require(
      passkey == nil || answer.passkeyOptions.hasChallenge(of: answer.signingInput), "R47", "another challenge")
    world.require(isAuthenticated(call, in: world), "R28", "a ticket for a login of long ago")
    world.ledger.note(
      HandedTicket(
        applicationID: applicationID, profileID: profileID, deviceID: deviceID, signingInput: answer.signingInput,
        expiresAt: answer.expiresAt.map(UnixTime.init) ?? UnixTime(seconds: 0)), sealed: answer.ticket)
  }

  private func isAuthenticated(_ call: Call, in world: World) -> Bool {
    guard let authenticatedAt = primary?.authenticatedAt.map(UnixTime.init) else { return false }
    return authenticatedAt + world.plan.enrolment.primaryFreshness
      >= world.time.earliest(since: call.dispatchedStep ?? 0)
  }

  func summary(of answer: Answer) -> String { answer.denial.map { "denied, \($0.reason)" } ?? "a ticket" }
}

extension V1.CompleteBindingRequest: Request {
  static let method = "BindingService/CompleteBinding"
  typealias Answer = V1.CompleteBindingResponse

  var isRepeatable: Bool { keys.isEmpty && passkey == nil }

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard Identifier.areEqual(event.applicationID, applicationID) else { return false }
    if event.kind == "binding.refused" { return moment.changeSet.changesNothing }
    guard let handed = handed(in: moment.world) else { return false }
    switch event.kind {
    case "binding.created":
      guard let record = moment.changeSet.binding(event.bindingID) else { return false }
      return moment.earliest < handed.expiresAt && isAsAsked(record, handed) && isProven(record, handed, moment)
    case "binding.revoked":
      guard let replaced = moment.before.binding(event.bindingID) else { return false }
      return Identifier.areEqual(replaced.deviceID, handed.deviceID)
        && (replaceExisting || Identifier.areEqual(replaced.profileID, handed.profileID))
    case "device.unlocked": return endsLockout(of: event.deviceID, handed, moment)
    default: return false
    }
  }

  /// R12: with keys, in place of the same profile's own binding, which was there when the lock began (or replaced one
  /// that was).
  private func endsLockout(of deviceID: String, _ handed: HandedTicket, _ moment: Moment) -> Bool {
    guard !keys.isEmpty, Identifier.areEqual(deviceID, handed.deviceID),
      let own = moment.before.activeBinding(applicationID, onDevice: deviceID),
      Identifier.areEqual(own.profileID, handed.profileID), let bound = moment.world.ledger.binding(own.bindingID),
      let lockStep = moment.world.ledger.lockStep(of: deviceID)
    else { return false }
    return bound.ownerStep <= lockStep
  }

  private func handed(in world: World) -> HandedTicket? {
    guard let handed = world.ledger.tickets[ticket], Identifier.areEqual(handed.applicationID, applicationID) else {
      return nil
    }
    return handed
  }

  private func isAsAsked(_ record: BindingRecord, _ handed: HandedTicket) -> Bool {
    guard Identifier.areEqual(record.profileID, handed.profileID) else { return false }
    if case .passkey = record.credential { return handed.deviceID.isEmpty && record.baseline == nil }
    return Identifier.areEqual(record.deviceID, handed.deviceID)
      && record.baseline?.domainState ?? [] == posture?.domainState ?? []
  }

  /// X9.63, uncompressed.
  private static let pointBytes = 65

  /// Each key signed this very ticket, and only a genuine app vouches for it: attackers alone send certificates here. A
  /// ProfileTouchID needs no proof, and is nobody else's. A passkey was made for this very ticket.
  private func isProven(_ record: BindingRecord, _ handed: HandedTicket, _ moment: Moment) -> Bool {
    switch record.credential {
    case .hardwareKeys(let recorded):
      return recorded.map(\.publicKey) == keys.map(\.publicKey)
        && recorded.map { Int32($0.protection.rawValue) } == keys.map(\.protection.rawValue)
        && recorded.map { $0.mlDSA65PublicKey ?? [] } == keys.map(\.mlDsa65PublicKey)
        && recorded.map { $0.kind == .rsa } == keys.map { $0.publicKey.count > Self.pointBytes }
        && keys.allSatisfy { key in
          key.signatureForm.isTaken(in: applicationID)
            && moment.world.ledger.isSigned(
              key.signatureForm.bytes(of: handed.signingInput), key.signature, key.mlDsa65Signature, by: key.publicKey,
              and: key.mlDsa65PublicKey)
        }
        && (appAttest.map { isVouched(by: $0, record, handed, moment) } ?? isBare(record, moment))
    case .profileTouchID(let digest):
      guard let value = profileTouchID?.value, keys.isEmpty, isBare(record, moment),
        World.digest(ofProfileTouchID: value) == digest
      else {
        return false
      }
      return !moment.before.bindings.values.contains { other in
        !other.isRevoked && Identifier.areEqual(other.applicationID, applicationID)
          && other.credential == record.credential && !Identifier.areEqual(other.deviceID, handed.deviceID)
      }
    case .passkey(let recorded):
      guard let passkey, isBare(record, moment), passkey.attestationObject.hold(recorded.credentialID) else {
        return false
      }
      return moment.world.ledger.proofs.signingInput(of: passkey) == handed.signingInput
        && !moment.before.bindings.values.contains { other in
          guard case .passkey(let held) = other.credential, !other.isRevoked else { return false }
          return Identifier.areEqual(other.applicationID, applicationID) && held.credentialID == recorded.credentialID
        }
    }
  }

  /// Nothing is proven of it, and nothing need be (R42).
  private func isBare(_ record: BindingRecord, _ moment: Moment) -> Bool {
    record.credential.proofLevel == .none && record.appAttest == nil
      && !(moment.world.plan.requiresAttestation && Identifier.areEqual(applicationID, Names.provenApplication))
  }

  /// A genuine app said so of these very keys and this posture, for this ticket, and never before (R43).
  private func isVouched(
    by word: V1.AppAttest, _ record: BindingRecord, _ handed: HandedTicket, _ moment: Moment
  ) -> Bool {
    let isNew = word.assertion.isEmpty
    guard let vouching = moment.world.ledger.proofs.vouching(isNew ? word.attestation : word.assertion),
      Identifier.areEqual(applicationID, Names.provenApplication), vouching.keyID == word.keyID,
      record.appAttest?.keyID == word.keyID, record.credential.proofLevel == .app,
      vouching.clientData == BindingClientData(self, signingInput: handed.signingInput).bytes
    else { return false }
    let present = moment.before.activeBinding(applicationID, onDevice: handed.deviceID)
    return record.proofCounter == vouching.counter && (isNew || present?.appAttest?.keyID == word.keyID)
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    guard let handed = handed(in: world), let binding = answer.binding else {
      return world.report("R28", "a binding by a ticket that was never given")
    }
    handed.useCount += 1
    world.require(handed.useCount == 1, "R28", "a ticket served twice")
    world.requireEvent(of: call, "binding.created") { Identifier.areEqual($0.bindingID, binding.bindingID) }
  }

  func summary(of answer: Answer) -> String { "bound" }
}

extension V1.GetBindingRequest: Request {
  static let method = "BindingService/GetBinding"
  typealias Answer = V1.GetBindingResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    event.kind == "binding.refused" && Identifier.areEqual(event.bindingID, bindingID)
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.require(
      Identifier.areEqual(answer.binding?.applicationID ?? "", applicationID), "R37", "another application's binding")
  }
}

extension V1.ListBindingsRequest: Request {
  static let method = "BindingService/ListBindings"
  typealias Answer = V1.ListBindingsResponse

  func check(_ answer: Answer, to call: Call, in world: World) {
    for binding in answer.bindings {
      world.require(
        Identifier.areEqual(binding.applicationID, applicationID) && Identifier.areEqual(binding.profileID, profileID),
        "R37", "somebody else's binding")
      world.require(includeRevoked || binding.state == .active, "R32", "a revoked binding among the active")
    }
  }
}

extension V1.RevokeBindingRequest: Request {
  static let method = "BindingService/RevokeBinding"
  typealias Answer = V1.RevokeBindingResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    ["binding.revoked", "binding.refused"].contains(event.kind) && Identifier.areEqual(event.bindingID, bindingID)
      && Identifier.areEqual(event.applicationID, applicationID)
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.ledger.noteRevoked(bindingID: bindingID, at: world.time.step)
    // One that was erased meanwhile is not there any more.
    world.require(
      world.database.records.binding(bindingID)?.isRevoked != false, "R32", "revoked, it was said, and it is not")
  }
}

extension V1.AcceptDomainStateRequest: Request {
  static let method = "BindingService/AcceptDomainState"
  typealias Answer = V1.AcceptDomainStateResponse

  var isRepeatable: Bool { if case .token = evidence { false } else { true } }

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard Identifier.areEqual(event.applicationID, applicationID) else { return false }
    if event.kind == "binding.refused" { return moment.changeSet.changesNothing }
    guard event.kind == "binding.domain_state_accepted", let before = moment.before.binding(event.bindingID),
      let new = moment.changeSet.binding(event.bindingID), Identifier.areEqual(event.bindingID, bindingID)
    else { return false }
    return !before.isRevoked && new.baseline?.domainState == domainState && isEvident(of: before, moment)
  }

  /// A login of the person's by something else than biometrics, under five minutes ago (R26).
  private func isEvident(of binding: BindingRecord, _ moment: Moment) -> Bool {
    switch evidence {
    case .primary(let primary): return moment.isFresh(primary, within: moment.world.plan.enrolment.primaryFreshness)
    case .token(let text):
      guard let token = moment.world.ledger.token(text) else { return false }
      return Identifier.areEqual(token.applicationID, applicationID)
        && Identifier.areEqual(token.profileID, binding.profileID) && !token.isByBiometrics
        && moment.earliest < token.expiresAt
    case nil: return false
    }
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.require(answer.binding?.domainStateRecorded == true, "R26", "accepted, and not recorded")
  }
}

extension String {
  /// The challenge of WebAuthn's options (R47).
  func hasChallenge(of signingInput: [UInt8]) -> Bool {
    contains(#""challenge":"\#(Base64URL.encode(sha256(signingInput)))""#)
  }
}

extension [UInt8] {
  fileprivate func hold(_ part: [UInt8]) -> Bool {
    indices.contains { self[$0...].starts(with: part) }
  }
}
