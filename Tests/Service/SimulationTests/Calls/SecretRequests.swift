// Passcodes, gestures and the switches: setting, changing and erasing them.

import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

extension V1.SetSecretRequest: Request {
  static let method = "SecretService/SetSecret"
  typealias Answer = V1.SetSecretResponse

  private var kind: Factor { secret?.factor ?? .passcode }

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    if event.kind == "secret.refused" { return event.isOfKnown(applicationID, profileID, moment) }
    guard event.isOf(applicationID, profileID) else { return false }
    switch event.kind {
    case "secret.set": return isEntitled(moment) && isSet(in: moment)
    default: return false
    }
  }

  private func isEntitled(_ moment: Moment) -> Bool {
    switch authority {
    case .primary(let primary): moment.isFresh(primary, within: moment.world.plan.enrolment.primaryFreshness)
    case .oldSecret(let old): old.factor == kind && moment.isRight(old.bytes, kind, of: applicationID, profileID)
    case nil: false
    }
  }

  /// The written secret is the requested one, and the request has it twice.
  private func isSet(in moment: Moment) -> Bool {
    guard let record = moment.changeSet.profile(applicationID, profileID)?.secret(kind) else { return false }
    return moment.world.ledger.secret(of: record.verifier)?.bytes == secret?.bytes && secret == confirmation
      && record.standing.isSet && record.standing.failures == 0 && record.standing.lock == .none
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    guard answer.accepted else {
      return world.requireEvent(of: call, "secret.refused", ofPerhapsUnknown: profileID, in: applicationID)
    }
    world.requireEvent(of: call, "secret.set") { $0.isOf(applicationID, profileID) }
    world.require(answer.denial == nil, "R16", "set, and denied")
  }

  func summary(of answer: Answer) -> String { answer.accepted ? "set" : "refused, left \(answer.attemptsLeft)" }
}

extension V1.RemoveSecretRequest: Request {
  static let method = "SecretService/RemoveSecret"
  typealias Answer = V1.RemoveSecretResponse

  private var factor: Factor { kind == .gesture ? .gesture : .passcode }

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    if event.kind == "secret.refused" { return event.isOfKnown(applicationID, profileID, moment) }
    guard event.isOf(applicationID, profileID) else { return false }
    switch event.kind {
    case "secret.removed":
      let record = moment.changeSet.profile(applicationID, profileID)
      return isEntitled(moment) && record?.secret(factor)?.standing.isSet != true
    default: return false
    }
  }

  private func isEntitled(_ moment: Moment) -> Bool {
    switch authority {
    case .primary(let primary): moment.isFresh(primary, within: moment.world.plan.enrolment.primaryFreshness)
    case .oldSecret(let old): old.factor == factor && moment.isRight(old.bytes, factor, of: applicationID, profileID)
    case nil: false
    }
  }

  func summary(of answer: Answer) -> String { answer.accepted ? "removed" : "refused, left \(answer.attemptsLeft)" }
}

extension V1.GetUnlockSettingsRequest: Request {
  static let method = "SecretService/GetUnlockSettings"
  typealias Answer = V1.GetUnlockSettingsResponse
}

extension V1.SetUnlockSettingsRequest: Request {
  static let method = "SecretService/SetUnlockSettings"
  typealias Answer = V1.SetUnlockSettingsResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    guard event.isOf(applicationID, profileID) else { return false }
    switch event.kind {
    case "settings.changed": return true
    // Switching the gesture off erases it (R17).
    case "secret.removed": return event.detail("factor") == "gesture" && settings?.gestureEnabled == false
    default: return false
    }
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.require(answer.settings?.biometryEnabled == settings?.biometryEnabled, "R17", "the settings are others")
  }
}

extension ChangeSet {
  func profile(_ applicationID: String, _ profileID: String) -> ProfileRecord? {
    for case .putProfile(let record) in changes
    where Identifier.areEqual(record.applicationID, applicationID) && Identifier.areEqual(record.profileID, profileID) {
      return record
    }
    return nil
  }
}
