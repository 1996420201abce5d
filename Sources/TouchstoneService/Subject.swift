// Whose evaluation it is: a binding that is there, or a stand-in that answers alike (R37).

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// What an evaluation of a binding rests on.
struct Subject: Sendable {
  /// `nil`: no such binding in this application.
  var binding: BindingRecord?
  var device: DeviceRecord
  var evaluation: EvaluationRecord?

  /// As the rules see it.
  func standing(standIns: StandIns, bindingID: String) -> BindingStanding {
    binding?.standing ?? standIns.standing(ofUnknown: bindingID)
  }
}

/// Unknown bindings, as the rules see them: like real ones to somebody without the phone (R37).
///
/// Each has a baseline that no phone has, so that a domain state which is guessed differs from it. It follows from the
/// binding's id and the service's pepper, so that it is the same at every time and on every replica. What still tells
/// them apart: a phone that gives no domain state at all was bound without a baseline, and an unknown one never was.
struct StandIns: Sendable {
  private let pepper: Pepper

  /// As if bound under the newest OS when this was written: an asker who claims a later one sees a change with the OS.
  private static let osMajorVersion: UInt32 = 26

  init(pepper: Pepper) {
    self.pepper = pepper
  }

  func standing(ofUnknown bindingID: String) -> BindingStanding {
    BindingStanding(
      isActive: false, keyProtections: [.biometryCurrentSet], holdsProfileTouchID: false,
      baseline: DomainStateBaseline(
        domainState: pepper.digest(of: Array(bindingID.utf8), purpose: "stand-in binding"),
        osMajorVersion: Self.osMajorVersion))
  }
}

extension BindingRecord {
  var standing: BindingStanding {
    switch credential {
    case .hardwareKeys(let keys):
      BindingStanding(
        isActive: !isRevoked, keyProtections: keys.map(\.protection), holdsProfileTouchID: false, baseline: baseline)
    case .profileTouchID:
      BindingStanding(isActive: !isRevoked, keyProtections: [], holdsProfileTouchID: true, baseline: baseline)
    }
  }

  /// The key that serves `factor`, if the binding has one: there is at most one for each.
  func publicKey(for factor: Factor) -> [UInt8]? {
    guard case .hardwareKeys(let keys) = credential else { return nil }
    return keys.first { $0.protection.factor == factor }?.publicKey
  }
}

extension TouchstoneService {
  /// Another application's binding is as unknown as one that never was.
  func subject<Response>(
    bindingID: String, applicationID: String, evaluation: ExpiringKey?, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (Subject) throws(RequestError) -> Void
  ) {
    store.attemptRecords(
      bindingID: bindingID, evaluation: evaluation,
      completion: exchange.then { [store] records throws(RequestError) in
        if let binding = records.binding, !Identifier.areEqual(binding.applicationID, applicationID) {
          let standIn = DeviceRecord.standInID(forUnknownBinding: bindingID)
          store.device(
            id: standIn,
            completion: exchange.then { device throws(RequestError) in
              try body(Subject(binding: nil, device: device, evaluation: records.evaluation))
            })
        } else {
          try body(Subject(binding: records.binding, device: records.device, evaluation: records.evaluation))
        }
      })
  }
}
