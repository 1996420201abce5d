// Whose evaluation it is: a binding, a profile, or whoever holds the identifier that is shown; or a stand-in that
// answers alike (R37).

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// Whom an evaluation names.
enum EvaluationSubject: Sendable, Hashable {
  case binding(String)
  /// For a person without a bound device.
  case profile(String)
  /// A ProfileTouchID is to say who it is.
  case bearer

  /// Of both the caller gives at most one.
  init(bindingID: String, profileID: String) {
    self = !bindingID.isEmpty ? .binding(bindingID) : !profileID.isEmpty ? .profile(profileID) : .bearer
  }

  var bindingID: String? {
    if case .binding(let id) = self { id } else { nil }
  }
}

/// What an evaluation rests on: as it is stored, and as the rules see it.
struct Subject: Sendable {
  /// `nil`: no such binding in this application, or none was named.
  var binding: BindingRecord?
  var device: DeviceRecord
  /// The person's own; of an unknown binding or bearer the stand-in or placeholder that the store gave.
  var profile: ProfileRecord
  /// Where attempts with passcode and gesture are counted instead; nothing is ever right there.
  var standIn: ProfileRecord?
  /// `nil`: nobody is known who could succeed.
  var profileID: String?
  var evaluation: EvaluationRecord?

  var bindingStanding: BindingStanding
  var profileStanding: ProfileStanding

  /// Where attempts with passcode and gesture are counted.
  var secretHolder: ProfileRecord { standIn ?? profile }

  /// All that the rules are told, but for the attempt.
  func facts(posture: DevicePosture, now: UnixTime) -> AdmissionFacts {
    AdmissionFacts(
      posture: posture, binding: bindingStanding, device: device.biometry, profile: profileStanding,
      evaluation: evaluation?.standing ?? EvaluationStanding(), now: now)
  }

  /// What a secret is verified against; `nil` where nothing can be right.
  func verifier(of kind: Factor) -> [UInt8]? {
    standIn == nil ? profile.secret(kind)?.verifier : nil
  }
}

/// Unknown bindings and profiles, as the rules see them: like real ones to somebody without the phone or the secret
/// (R37). What they have follows from their id and the service's pepper, so that it is the same at every time and on
/// every replica.
struct StandIns: Sendable {
  private let pepper: Pepper

  /// As if bound under the newest OS when this was written: an asker who claims a later one sees a change with the OS.
  private static let osMajorVersion: UInt32 = 26

  init(pepper: Pepper) {
    self.pepper = pepper
  }

  /// Has a baseline that no phone has, so that a domain state which is guessed differs from it. What still tells it
  /// apart: a phone that gives no domain state at all was bound without a baseline, and an unknown one never was.
  func standing(ofUnknownBinding bindingID: String) -> BindingStanding {
    BindingStanding(
      isActive: false, keyProtections: [.biometryCurrentSet], holdsProfileTouchID: false,
      baseline: DomainStateBaseline(
        domainState: pepper.digest(of: Array(bindingID.utf8), purpose: "stand-in binding"),
        osMajorVersion: Self.osMajorVersion))
  }

  /// Has a passcode, and in one case of two a gesture.
  ///
  /// - Parameter record: where its failures are counted.
  func standing(of record: ProfileRecord) -> ProfileStanding {
    let digest = pepper.digest(
      of: Array(record.applicationID.utf8), Array(record.profileID.utf8), purpose: "stand-in profile")
    let hasGesture = digest[0] & 1 == 1
    return ProfileStanding(
      settings: UnlockSettings(isGestureEnabled: hasGesture, isPasscodeEnabled: true),
      passcode: record.passcode?.standing ?? SecretStanding(isSet: true),
      gesture: record.gesture?.standing ?? SecretStanding(isSet: hasGesture))
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

  var profileTouchIDDigest: [UInt8]? {
    if case .profileTouchID(let digest) = credential { digest } else { nil }
  }
}

extension ProfileRecord {
  /// - Parameter kind: passcode or gesture.
  func secret(_ kind: Factor) -> SecretRecord? {
    kind == .gesture ? gesture : passcode
  }

  mutating func setSecret(_ secret: SecretRecord?, _ kind: Factor) {
    if kind == .gesture { gesture = secret } else { passcode = secret }
  }

  /// Set and switched on: something that the person can be asked for.
  fileprivate var hasUsableSecret: Bool {
    let standing = standing
    return (settings.isPasscodeEnabled && standing.passcode.isSet)
      || (settings.isGestureEnabled && standing.gesture.isSet)
  }
}

// MARK: - Reading

extension TouchstoneService {
  /// - Parameters:
  ///   - digest: of the ProfileTouchID that is shown, where one is; in an evaluation that names nobody, it does.
  ///   - evaluation: `nil` where none is asked for.
  func subject<Response>(
    _ named: EvaluationSubject, digest: [UInt8]? = nil, of applicationID: String, evaluation: ExpiringKey?,
    for exchange: Exchange<Response>, then body: @escaping @Sendable (Subject) throws(RequestError) -> Void
  ) {
    switch named {
    case .binding(let bindingID):
      store.attemptRecords(
        for: .binding(applicationID: applicationID, bindingID: bindingID), evaluation: evaluation,
        completion: exchange.then { [standIns] records throws(RequestError) in
          try body(Subject(records, ofBinding: bindingID, standIns))
        })
    case .profile(let profileID):
      person(profileID, of: applicationID, evaluation: evaluation, for: exchange, then: body)
    case .bearer:
      // No binding's digest is empty.
      store.attemptRecords(
        for: .profileTouchID(applicationID: applicationID, digest: digest ?? []), evaluation: evaluation,
        completion: exchange.then { records throws(RequestError) in try body(Subject(ofBearer: records)) })
    }
  }

  /// Looks for the stand-in also where the profile is known: so that both take as long.
  private func person<Response>(
    _ profileID: String, of applicationID: String, evaluation: ExpiringKey?, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (Subject) throws(RequestError) -> Void
  ) {
    store.attemptRecords(
      for: .profile(applicationID: applicationID, profileID: profileID), evaluation: evaluation,
      completion: exchange.then { [store, standIns] records in
        let standInID = ProfileRecord.standInID(forProfile: profileID)
        store.attemptRecords(
          for: .profile(applicationID: applicationID, profileID: standInID), evaluation: nil,
          completion: exchange.then { standIn throws(RequestError) in
            try body(Subject(records, standIn: standIn.profile, standIns))
          })
      })
  }
}

extension Subject {
  fileprivate init(_ records: AttemptRecords, ofBinding bindingID: String, _ standIns: StandIns) {
    let binding = records.binding
    self.init(
      binding: binding, device: records.device, profile: records.profile,
      standIn: binding == nil ? records.profile : nil, profileID: binding?.profileID, evaluation: records.evaluation,
      bindingStanding: binding?.standing ?? standIns.standing(ofUnknownBinding: bindingID),
      profileStanding: binding == nil ? standIns.standing(of: records.profile) : records.profile.standing)
  }

  fileprivate init(_ records: AttemptRecords, standIn: ProfileRecord, _ standIns: StandIns) {
    let isAsked = records.profile.hasUsableSecret
    self.init(
      binding: nil, device: records.device, profile: records.profile, standIn: isAsked ? nil : standIn,
      profileID: records.profile.profileID, evaluation: records.evaluation, bindingStanding: .absent,
      profileStanding: isAsked ? records.profile.standing : standIns.standing(of: standIn))
  }

  /// Of an unknown one, no secret is asked for.
  fileprivate init(ofBearer records: AttemptRecords) {
    let binding = records.binding
    self.init(
      binding: binding, device: records.device, profile: records.profile, standIn: nil,
      profileID: binding?.profileID, evaluation: records.evaluation,
      bindingStanding: binding?.standing ?? .bearer, profileStanding: records.profile.standing)
  }

  /// For an evaluation that names nobody, before anybody showed who it is: nothing is read.
  static func unnamed(in applicationID: String) -> Subject {
    Subject(
      ofBearer: AttemptRecords(
        binding: nil, device: .placeholder, profile: .placeholder(in: applicationID), evaluation: nil))
  }
}
