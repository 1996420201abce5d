// The requests of operators and support staff.

import StoreModel
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

extension V1.UnlockDeviceRequest: Request {
  static let method = "AdministrationService/UnlockDevice"
  typealias Answer = V1.UnlockDeviceResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    ["device.unlocked", "device.refused"].contains(event.kind) && Identifier.areEqual(event.deviceID, deviceID)
      && Identifier.areEqual(event.applicationID, applicationID)
  }
}

extension V1.UnlockSecretRequest: Request {
  static let method = "AdministrationService/UnlockSecret"
  typealias Answer = V1.UnlockSecretResponse

  /// One that is disabled stays so (R13).
  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    if event.kind == "secret.refused" { return event.isOfKnown(applicationID, profileID, moment) }
    guard event.kind == "secret.unlocked", event.isOf(applicationID, profileID) else { return false }
    let record = moment.before.profile(applicationID, profileID).secret(kind == .gesture ? .gesture : .passcode)
    return record?.standing.lock != .untilSetAnew
  }
}

extension V1.GetProfileRequest: Request {
  static let method = "AdministrationService/GetProfile"
  typealias Answer = V1.GetProfileResponse

  func justifies(_ event: EventDraft, _ moment: Moment) -> Bool {
    event.kind == "profile.refused" && Identifier.areEqual(event.applicationID, applicationID)
      && event.profileID.isEmpty
  }

  func check(_ answer: Answer, to call: Call, in world: World) {
    for binding in answer.bindings {
      world.require(
        Identifier.areEqual(binding.applicationID, applicationID) && Identifier.areEqual(binding.profileID, profileID),
        "R37", "somebody else's binding")
    }
  }
}

extension V1.EraseProfileRequest: Request {
  static let method = "AdministrationService/EraseProfile"
  typealias Answer = V1.EraseProfileResponse

  func check(_ answer: Answer, to call: Call, in world: World) {
    world.ledger.noteErased(applicationID, profileID, at: world.time.step)
  }
}

extension V1.ListEventsRequest: Request {
  static let method = "AdministrationService/ListEvents"
  typealias Answer = V1.ListEventsResponse

  func check(_ answer: Answer, to call: Call, in world: World) {
    let sequences = answer.events.map(\.sequence)
    world.require(zip(sequences, sequences.dropFirst()).allSatisfy(<), "R41", "events out of order")
    // A garbled request may name no application, and lists the events of all.
    guard let applicationID = filter?.applicationID, !applicationID.isEmpty else { return }
    for event in answer.events {
      world.require(Identifier.areEqual(event.applicationID, applicationID), "R41", "another application's event")
    }
  }
}
