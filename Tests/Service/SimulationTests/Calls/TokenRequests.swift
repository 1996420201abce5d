// Tokens: what other services ask about them.

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

extension V1.IntrospectTokenRequest: Request {
  static let method = "TokenService/IntrospectToken"
  typealias Answer = V1.IntrospectTokenResponse

  var isRepeatable: Bool { false }

  func check(_ answer: Answer, to call: Call, in world: World) {
    guard answer.active else { return world.require(answer.claims == nil, "R40", "claims of a token that is none") }
    guard let token = world.ledger.token(token) else {
      return world.report("R40", "a token that was never issued is active")
    }
    token.requireServes(applicationID, call, world, "active")
    let claims = answer.claims
    world.require(
      Identifier.areEqual(claims?.profileID ?? "", token.profileID)
        && Identifier.areEqual(claims?.bindingID ?? "", token.bindingID) && claims?.transaction == token.transaction,
      "R40", "a token's claims are not those that were issued")
  }

  func summary(of answer: Answer) -> String { answer.active ? "active" : "inactive" }
}

extension V1.ConsumeTokenRequest: Request {
  static let method = "TokenService/ConsumeToken"
  typealias Answer = V1.ConsumeTokenResponse

  var isRepeatable: Bool { false }

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard Identifier.areEqual(event.applicationID, applicationID) else { return false }
    guard event.kind == "token.consumed" else { return event.kind == "token.refused" }
    guard let token = moment.world.ledger.token(token) else { return false }
    let isHeld =
      token.bindingID.isEmpty
      ? moment.before.profile(applicationID, token.profileID).version > 0
      : moment.before.binding(token.bindingID)?.isRevoked == false
    return isHeld && Identifier.areEqual(token.applicationID, applicationID) && token.isSingleUse
      && token.transaction == transaction
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.requireEvent(of: call, answer.consumed ? "token.consumed" : "token.refused") {
      Identifier.areEqual($0.applicationID, applicationID)
    }
    guard answer.consumed else { return world.require(answer.claims == nil, "R39", "claims of a refused token") }
    guard let token = world.ledger.token(token) else {
      return world.report("R39", "a token that was never issued is consumed")
    }
    token.consumptionCount += 1
    world.require(token.consumptionCount == 1, "R39", "a token is consumed twice")
    world.require(token.isSingleUse && token.transaction == transaction, "R39", "for another transaction")
    token.requireServes(applicationID, call, world, "consumed")
  }

  func summary(of answer: Answer) -> String { answer.consumed ? "consumed" : answer.reason }
}

extension IssuedToken {
  /// In its application, in time, and not after an answer said that it, its binding or its profile is gone (R32, R39).
  fileprivate func requireServes(_ applicationID: String, _ call: Call, _ world: World, _ verb: String) {
    let step = call.dispatchedStep ?? 0
    world.require(Identifier.areEqual(self.applicationID, applicationID), "R39", "another's token is \(verb)")
    world.require(world.time.earliest(since: step) < expiresAt, "R40", "a token is \(verb) after its time")
    guard !world.hasStaleReads else { return }
    world.require(revokedStep.map { $0 >= step } ?? true, "R32", "a revoked token is \(verb)")
    let revoked = world.ledger.revokedStep(ofBinding: bindingID)
    world.require(revoked.map { $0 >= step } ?? true, "R32", "a revoked binding's token is \(verb)")
    let erased = world.ledger.erasedStep(self.applicationID, profileID)
    world.require(erased.map { $0 >= step || $0 < issuedStep } ?? true, "R32", "an erased profile's token is \(verb)")
  }
}

extension V1.RevokeTokenRequest: Request {
  static let method = "TokenService/RevokeToken"
  typealias Answer = V1.RevokeTokenResponse

  var isRepeatable: Bool { false }

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard Identifier.areEqual(event.applicationID, applicationID) else { return false }
    guard event.kind == "token.revoked" else { return event.kind == "token.refused" }
    return moment.world.ledger.token(token).map { Identifier.areEqual($0.applicationID, applicationID) } ?? false
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    guard let token = world.ledger.token(token), Identifier.areEqual(token.applicationID, applicationID) else { return }
    token.revokedStep = token.revokedStep ?? world.time.step
  }
}
