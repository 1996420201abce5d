// Whose evaluation it is: a binding that is there, or the stand-in that answers alike (R37).

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

  /// As the rules see the binding. An unknown one looks like a real one to somebody without its phone: a domain state
  /// that is guessed is not the baseline, and no proof is right.
  func standing(for posture: DevicePosture) -> BindingStanding {
    guard let binding else {
      return BindingStanding(
        isActive: false, keyProtections: [.biometryCurrentSet], holdsProfileTouchID: false,
        baseline: DomainStateBaseline(
          domainState: Self.unguessableDomainState, osMajorVersion: posture.osVersion?.major ?? 0))
    }
    return binding.standing
  }

  /// No device's.
  private static let unguessableDomainState = randomBytes(32)
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
