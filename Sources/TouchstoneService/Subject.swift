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
  private var records: AttemptRecords
  /// Where attempts with passcode and gesture are counted instead; nothing is ever right there.
  private var standIn: SharedRecord<ProfileRecord>?
  /// `nil`: nobody is known who could succeed.
  var profileID: String?

  var bindingStanding: BindingStanding
  var profileStanding: ProfileStanding

  /// `nil`: no such binding in this application, or none was named.
  var binding: BindingRecord? {
    _read { yield records.binding }
  }

  var device: DeviceRecord {
    _read { yield records.device }
  }

  /// The person's own; of an unknown binding or bearer the stand-in or placeholder that the store gave.
  var profile: ProfileRecord {
    _read { yield records.profile }
  }

  var evaluation: EvaluationRecord? {
    _read { yield records.evaluation }
  }

  /// Where attempts with passcode and gesture are counted.
  var secretHolder: ProfileRecord { standIn?.value ?? profile }

  /// All that the rules are told, but for the attempt.
  func facts(posture: DevicePosture, now: UnixTime) -> AdmissionFacts {
    AdmissionFacts(
      posture: posture, binding: bindingStanding, device: device.biometry, profile: profileStanding,
      evaluation: evaluation?.standing ?? EvaluationStanding(), now: now)
  }

  /// Keeps what an active binding's device says of itself, beside what is written anyway; `nil` where it is known already,
  /// or nobody's.
  func note(of seen: SeenPosture) -> Change? {
    guard let binding = records.sharedBinding?.value, !binding.isRevoked, seen.isNews(after: binding.lastSeen) else {
      return nil
    }
    return .notePosture(bindingID: binding.bindingID, seen)
  }

  /// What a secret is verified against; `nil` where nothing can be right.
  func verifier(of kind: Factor) -> [UInt8]? {
    standIn == nil ? profile.secret(kind)?.verifier : nil
  }
}

/// Unknown bindings and profiles, as the rules see them: like real ones to somebody without the phone or the secret
/// (R37). What they have follows from their id and the service's pepper, so that it is the same at every time and on
/// every replica; and it differs from one to the next as it does among real ones, so that no offer tells that somebody is
/// there.
struct StandIns: Sendable {
  private let pepper: Pepper

  /// Systems that give a domain state, up to the newest when this was written. An asker who claims a later one sees a
  /// change with the OS.
  private static let osMajorVersions: ClosedRange<UInt32> = 9...26

  /// Equally often. A bearer identifier is one of them.
  private static let keyProtections: [KeyProtections] = [
    [.biometryCurrentSet], [.biometryCurrentSet], [.biometryAny], [.biometryCurrentSet, .devicePasscode],
    [.biometryCurrentSet, .userPresence], [.devicePasscode], [.userPresence], [],
  ]

  init(pepper: Pepper) {
    self.pepper = pepper
  }

  /// Most bindings are of phones, and most of those are iPhones. Every caller learns whether a posture is of the right
  /// family, so an unknown binding has one, too (R38). `nil`: bindings that an older version made take every family.
  private static let platformFamilies: [PlatformFamily?] = [
    .iOS, .iOS, .iOS, .iOS, .iOS, .iOS, .iOS, .iOS, .iOS, .macOS, .android, .android, .android, .web, nil, nil,
  ]

  /// Where its platform has one, it has a baseline that no phone has, so that a domain state which is guessed differs from
  /// it. What still tells it apart: a phone before iOS 9 was bound without a baseline, and an unknown one never was.
  func standing(ofUnknownBinding bindingID: String) -> BindingStanding {
    let id = Array(bindingID.utf8)
    let chance = pepper.digest(of: id, purpose: "stand-in binding's kind")
    let keys = Self.keyProtections[Int(chance[0]) % Self.keyProtections.count]
    let osMajorVersion = Self.osMajorVersions.lowerBound + UInt32(chance[1]) % UInt32(Self.osMajorVersions.count)
    let family = Self.platformFamilies[Int(chance[2]) % Self.platformFamilies.count]
    return BindingStanding(
      isActive: false, keyProtections: keys, holdsProfileTouchID: keys.isEmpty,
      baseline: family?.hasDomainState ?? true
        ? DomainStateBaseline(
          domainState: pepper.digest(of: id, purpose: "stand-in binding"), osMajorVersion: osMajorVersion) : nil,
      platformFamily: family)
  }

  /// - Parameters:
  ///   - record: where its failures are counted.
  ///   - hasSecret: of somebody asked without a phone, at least one. Who has none is a stand-in, too.
  func standing(of record: ProfileRecord, hasSecret: Bool) -> ProfileStanding {
    let chance = pepper.digest(
      of: Array(record.applicationID.utf8), Array(record.profileID.utf8), purpose: "stand-in profile")
    let secrets: [[Factor]] = [[.passcode], [.gesture], [.passcode, .gesture], hasSecret ? [.passcode] : []]
    let set = secrets[Int(chance[0]) % secrets.count]
    var settings = UnlockSettings(
      isBiometryEnabled: chance[1] % 8 != 0, isGestureEnabled: set.contains(.gesture),
      isPasscodeEnabled: set.contains(.passcode))
    // Most people leave that alone.
    if chance[2] % 4 == 0 { settings.preferred = set.isEmpty ? nil : set[Int(chance[3]) % set.count] }
    return ProfileStanding(
      settings: settings,
      passcode: record.passcode?.standing ?? SecretStanding(isSet: set.contains(.passcode)),
      gesture: record.gesture?.standing ?? SecretStanding(isSet: set.contains(.gesture)))
  }
}

extension BindingRecord {
  var standing: BindingStanding {
    var standing = BindingStanding(
      isActive: !isRevoked, keyProtections: [], holdsProfileTouchID: false, baseline: baseline,
      platformFamily: platformFamily)
    switch credential {
    case .hardwareKeys(let keys):
      for key in keys { standing.keyProtections.insert(key.protection) }
    case .profileTouchID:
      standing.holdsProfileTouchID = true
    }
    return standing
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
        for: .binding(applicationID: applicationID, bindingID: bindingID), vendor: vendor(of: applicationID),
        evaluation: evaluation,
        completion: exchange.then { [standIns] records throws(RequestError) in
          try body(Subject(records, ofBinding: bindingID, standIns))
        })
    case .profile(let profileID):
      person(profileID, of: applicationID, evaluation: evaluation, for: exchange, then: body)
    case .bearer:
      // No binding's digest is empty.
      store.attemptRecords(
        for: .profileTouchID(applicationID: applicationID, digest: digest ?? []), vendor: vendor(of: applicationID),
        evaluation: evaluation,
        completion: exchange.then { records throws(RequestError) in try body(Subject(ofBearer: records)) })
    }
  }

  /// As `subject`, of a binding that the store has at hand: without all the closures. `nil`: ask there.
  func subjectAtHand<Response>(
    ofBinding bindingID: String, of applicationID: String, for exchange: Exchange<Response>
  ) throws(RequestError) -> Subject? {
    do throws(StoreError) {
      let records = try store.attemptRecordsAtHand(
        ofBinding: bindingID, applicationID: applicationID, vendor: vendor(of: applicationID))
      guard let records else { return nil }
      return Subject(records, ofBinding: bindingID, standIns)
    } catch {
      throw exchange.logged(error)
    }
  }

  /// Looks for the stand-in also where the profile is known: so that both take as long.
  private func person<Response>(
    _ profileID: String, of applicationID: String, evaluation: ExpiringKey?, for exchange: Exchange<Response>,
    then body: @escaping @Sendable (Subject) throws(RequestError) -> Void
  ) {
    store.attemptRecords(
      for: .profile(applicationID: applicationID, profileID: profileID), vendor: .everybody, evaluation: evaluation,
      completion: exchange.then { [store, standIns] records in
        let standInID = ProfileRecord.standInID(forProfile: profileID)
        store.attemptRecords(
          for: .profile(applicationID: applicationID, profileID: standInID), vendor: .everybody, evaluation: nil,
          completion: exchange.then { standIn throws(RequestError) in
            try body(Subject(records, standIn: standIn.profile, standIns))
          })
      })
  }
}

extension Subject {
  fileprivate init(_ records: AttemptRecords, ofBinding bindingID: String, _ standIns: StandIns) {
    if let binding = records.sharedBinding {
      self.init(
        records: records, standIn: nil, profileID: binding.value.profileID, bindingStanding: binding.value.standing,
        profileStanding: records.profile.standing)
    } else {
      self.init(
        records: records, standIn: SharedRecord(records.profile), profileID: nil,
        bindingStanding: standIns.standing(ofUnknownBinding: bindingID),
        profileStanding: standIns.standing(of: records.profile, hasSecret: false))
    }
  }

  fileprivate init(_ records: AttemptRecords, standIn: ProfileRecord, _ standIns: StandIns) {
    let isAsked = records.profile.standing.hasUsableSecret
    // Not even by the caller's own login does somebody succeed of whom nothing is known (R37).
    let isKnown = records.profile.version > 0
    var bindingStanding = BindingStanding.absent
    bindingStanding.isActive = isKnown
    self.init(
      records: records, standIn: isAsked ? nil : SharedRecord(standIn),
      profileID: isKnown ? records.profile.profileID : nil,
      bindingStanding: bindingStanding,
      profileStanding: isAsked ? records.profile.standing : standIns.standing(of: standIn, hasSecret: true))
  }

  /// Of an unknown one, no secret is asked for; of a known one, none is taken.
  fileprivate init(ofBearer records: AttemptRecords) {
    var found = records.binding?.standing
    found?.isFoundByProfileTouchID = true
    self.init(
      records: records, standIn: nil, profileID: records.binding?.profileID,
      bindingStanding: found ?? .bearer, profileStanding: records.profile.standing)
  }

  /// For an evaluation that names nobody, before anybody showed who it is: nothing is read.
  static func unnamed(in applicationID: String) -> Subject {
    Subject(
      ofBearer: AttemptRecords(
        binding: nil, device: .placeholder, profile: .placeholder(in: applicationID), evaluation: nil))
  }
}
