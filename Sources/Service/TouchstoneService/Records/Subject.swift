// The subject of an evaluation: a binding, a profile, or the holder of a ProfileTouchID. If the name is unknown, a
// stand-in takes its place and leads to the same answers (R37).

internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// The name that the caller gave for an evaluation.
enum EvaluationSubject: Sendable, Hashable {
  case binding(String)
  /// For a person without a bound device.
  case profile(String)
  /// A ProfileTouchID will identify the person.
  case bearer

  /// The caller gives at most one of the two; the other one is empty.
  init(bindingID: String, profileID: String) {
    self = !bindingID.isEmpty ? .binding(bindingID) : !profileID.isEmpty ? .profile(profileID) : .bearer
  }

  /// The id that the caller gave; empty for a ProfileTouchID's bearer.
  var name: String {
    switch self {
    case .binding(let id), .profile(let id): id
    case .bearer: ""
    }
  }

  var bindingID: String? {
    if case .binding(let id) = self { id } else { nil }
  }
}

/// The data that an evaluation depends on: the stored records, and their view for the rules.
struct Subject: Sendable {
  private var records: AttemptRecords
  /// True: a stand-in answers, and no passcode or gesture matches.
  private var matchesNoSecret: Bool
  /// The stand-in of a named profile. It counts the attempts on a secret that the profile does not have.
  private var standIn: SharedRecord<ProfileRecord>?
  /// `nil`: no known person could succeed.
  var profileID: String?

  var bindingStanding: BindingStanding
  var profileStanding: ProfileStanding

  /// `nil`: no such binding in this application, or none was named.
  var binding: BindingRecord? {
    _read { yield records.binding }
  }

  /// `binding`, without a copy of its texts.
  var sharedBinding: SharedRecord<BindingRecord>? { records.sharedBinding }

  var device: DeviceRecord {
    _read { yield records.device }
  }

  /// The person's own profile. For a revoked or unknown binding or a bearer: the stand-in or placeholder that the store
  /// returned.
  var profile: ProfileRecord {
    _read { yield records.profile }
  }

  var evaluation: EvaluationRecord? {
    _read { yield records.evaluation }
  }

  /// The record that counts attempts with a passcode or gesture. It is the record that counts old secrets, too
  /// (`SecretCount`): a switched-off secret counts on the profile, although no attempt matches it.
  func secretHolder(of kind: Factor) -> ProfileRecord {
    guard let standIn, !profile.secretCount(of: kind, standIn: standIn.value).isSet else { return profile }
    return standIn.value
  }

  /// A named profile has a stand-in: returns the one of the two that does not count the attempts.
  private func otherHolder(of kind: Factor) -> ProfileRecord {
    guard let standIn, profile.secretCount(of: kind, standIn: standIn.value).isSet else { return profile }
    return standIn.value
  }

  /// All facts that the rules read, except the attempt.
  func facts(posture: DevicePosture, now: UnixTime) -> AdmissionFacts {
    AdmissionFacts(
      posture: posture, binding: bindingStanding,
      // Until a proof succeeds, an evaluation that names no device shows none.
      device: bindingStanding.scope == .device ? device.biometry : BiometryStanding(), profile: profileStanding,
      evaluation: evaluation?.standing ?? EvaluationStanding(), now: now)
  }

  /// The device's report about itself, to be written with the other changes. It counts as news only for an active
  /// binding. `nil` if the caller named a profile, which has no device.
  func note(of seen: SeenPosture, as named: EvaluationSubject) -> PostureNote? {
    if case .profile = named { return nil }
    guard let binding = sharedBinding, !binding.value.isRevoked, seen.isNews(after: binding.value.lastSeen) else {
      return PostureNote(seen: seen, bindingID: nil)
    }
    return PostureNote(seen: seen, bindingID: binding.value.bindingID)
  }

  /// The named profile, with the records of a passkey of its own.
  func speaking(by passkey: AttemptRecords) -> Subject {
    var subject = self
    subject.records = AttemptRecords(
      binding: passkey.binding, device: passkey.device, profile: passkey.profile, evaluation: evaluation)
    subject.bindingStanding.show(passkey.binding?.passkey)
    return subject
  }

  /// Conditions for an event that names the subject. A known subject must still exist: after its erasure, the event
  /// would put its name into the log again. An unknown binding must still be unknown. A success compares these records
  /// anyway.
  ///
  /// - Parameter kind: the commit also compares the holder of this secret. If that is a stand-in, the named profile is the
  ///   other record. If it is the profile, the stand-in is compared as well, so that both take as long (R37).
  func nameRequirements(
    as named: EvaluationSubject, in applicationID: String, besideHolderOf kind: Factor? = nil
  ) -> [Change] {
    if let binding { return [.requireBinding(id: binding.bindingID, version: binding.version)] }
    return switch named {
    case .binding(let id): [.requireNoBinding(applicationID: applicationID, id: id)]
    case .profile: [.require(kind.map(otherHolder) ?? profile)]
    case .bearer: []
    }
  }

  /// The verifier of a secret; `nil` if no attempt can match.
  func verifier(of kind: Factor) -> [UInt8]? {
    matchesNoSecret ? nil : profile.secret(kind)?.verifier
  }
}

/// Stand-ins for unknown bindings and profiles. A caller without the phone or the secret cannot tell them from real
/// ones (R37).
///
/// A stand-in's properties are computed from its id and the service's pepper, so they are the same at every time and on
/// every replica. They vary between stand-ins as they vary between real records, so an offer does not reveal that a
/// name is known. A stand-in never has a property that no real record can have, because that would reveal that the name
/// is unknown. If a release changed the computation, a caller that asked before and after it would learn which ids are
/// unknown.
///
/// A known id needs no stand-in, so the computation must take almost no time. With one HMAC for each stand-in, the
/// answer for an unknown binding came 13 µs later.
struct StandIns: Sendable {
  private let bindingKinds: SipHash
  private let profileKinds: SipHash
  /// The domain state of all stand-ins. It is only compared, and no phone has it.
  private let domainState: [UInt8]

  /// Each kind twice, and the two usual ones a third time. The empty one stands for a bearer identifier.
  private static let keyProtections: [KeyProtections] = {
    let kinds: [KeyProtections] = [
      [.biometryCurrentSet], [.biometryCurrentSet, .devicePasscode], [.biometryAny],
      [.biometryCurrentSet, .userPresence], [.devicePasscode], [.userPresence], [],
    ]
    return kinds + kinds + kinds.prefix(2)
  }()

  init(pepper: Pepper) {
    bindingKinds = pepper.sipHash(purpose: "stand-in binding's kind")
    profileKinds = pepper.sipHash(purpose: "stand-in profile")
    domainState = pepper.digest(of: [], purpose: "stand-in binding")
  }

  /// Most bindings are phones', and most of these phones are iPhones. Every caller learns whether a posture is of the
  /// right family (R38). Every real binding has a family, so every unknown one has one, too.
  private static let platformFamilies: [PlatformFamily] =
    Array(repeating: .iOS, count: 10) + Array(repeating: .android, count: 4) + [.macOS, .web]

  /// All that can be proven of the keys of such a device. Two keys of a binding are usually proven alike.
  private static func proofs(of family: PlatformFamily) -> [ProvenKeys] {
    switch family {
    case .android:
      [
        ProvenKeys(), ProvenKeys(), ProvenKeys(all: .tee), ProvenKeys(all: .tee, areOfListedApp: true),
        ProvenKeys(all: .strongbox), ProvenKeys(all: .strongbox, areOfListedApp: true),
      ]
    case .iOS, .macOS, .visionOS: [ProvenKeys(), ProvenKeys(all: .app)]
    case .web: [ProvenKeys()]
    }
  }

  private static let secrets: [[Factor]] = [[.passcode], [.gesture], [.passcode, .gesture], []]
  private static let secretsOfAsked: [[Factor]] = secrets.map { $0.isEmpty ? [.passcode] : $0 }

  /// Few authenticators vouch for their passkeys.
  private static let passkeyLevels: [ProofLevel] = [.none, .none, .none, .tee]

  /// Draws from a digest, eight bits at a time.
  private struct Chance {
    private var bits: UInt64

    init(_ digest: UInt64) {
      bits = digest
    }

    mutating func next(of count: Int) -> Int {
      defer { bits >>= 8 }
      return Int(bits & 0xFF) % count
    }

    /// The next four bytes.
    mutating func nextWord() -> UInt32 {
      defer { bits >>= 32 }
      return UInt32(truncatingIfNeeded: bits)
    }
  }

  /// If the platform has domain states, the stand-in's baseline is one that no phone has. A guessed domain state never
  /// equals it. It is another one in each application: an id that is known in one is unknown in the others, so ids that
  /// answer alike in two would be unknown in both.
  ///
  /// - Parameter servesPasskeys: a part of the bindings there are passkeys, so a part of the unknown ones is.
  func standing(
    ofUnknownBinding bindingID: String, in applicationID: String, servesPasskeys: Bool = false
  ) -> BindingStanding {
    var chance = Chance(bindingKinds.digest(of: applicationID + ProfileRecord.standInID(forUnknownBinding: bindingID)))
    if servesPasskeys, chance.next(of: 4) == 0 {
      var passkey = BindingStanding(
        isActive: false, keyProtections: [], holdsProfileTouchID: false, baseline: nil, platformFamily: nil)
      passkey.holdsPasskey = true
      passkey.passkeyLevel = Self.passkeyLevels[chance.next(of: Self.passkeyLevels.count)]
      // Most are of phones and browsers, which copy them.
      passkey.isPasskeyDeviceBound = chance.next(of: 4) == 0
      return passkey
    }
    let keys = Self.keyProtections[chance.next(of: Self.keyProtections.count)]
    let family = Self.platformFamilies[chance.next(of: Self.platformFamilies.count)]
    let release = chance.nextWord()
    let proofs = keys.isEmpty ? [ProvenKeys()] : Self.proofs(of: family)
    return BindingStanding(
      isActive: false, keyProtections: keys, holdsProfileTouchID: keys.isEmpty,
      baseline: family.releases.map { releases in
        DomainStateBaseline(domainState: domainState, osMajorVersion: releases.major(by: release))
      },
      platformFamily: family, provenKeys: proofs[chance.next(of: proofs.count)])
  }

  /// - Parameters:
  ///   - record: counts the stand-in's failures.
  ///   - hasSecret: true if it has at least one secret: a profile without a phone. A real profile without a secret
  ///     gets a stand-in, too.
  func standing(of record: ProfileRecord, hasSecret: Bool) -> ProfileStanding {
    // A stand-in's id begins with a control character, which no application's id contains: no two pairs make the same
    // text.
    var chance = Chance(profileKinds.digest(of: record.applicationID + record.profileID))
    let set = (hasSecret ? Self.secretsOfAsked : Self.secrets)[chance.next(of: Self.secrets.count)]
    // People switch biometrics off only if they have a secret.
    var settings = UnlockSettings(
      isBiometryEnabled: chance.next(of: 8) != 0 || set.isEmpty, isGestureEnabled: set.contains(.gesture),
      isPasscodeEnabled: set.contains(.passcode))
    // Most people set no preference.
    if chance.next(of: 4) == 0 { settings.preferred = set.isEmpty ? nil : set[chance.next(of: set.count)] }
    return ProfileStanding(
      settings: settings,
      passcode: record.passcode?.standing ?? SecretStanding(isSet: set.contains(.passcode)),
      gesture: record.gesture?.standing ?? SecretStanding(isSet: set.contains(.gesture)))
  }
}

extension BindingStanding {
  /// Adds the facts that a policy may ask of a known passkey; `nil`: there is none.
  fileprivate mutating func show(_ passkey: PasskeyRecord?) {
    guard let passkey else { return }
    passkeyLevel = passkey.attestation?.level ?? .none
    isPasskeyDeviceBound = !passkey.isBackupEligible
  }
}

extension BindingRecord {
  var standing: BindingStanding {
    var standing = BindingStanding(
      isActive: !isRevoked, keyProtections: [], holdsProfileTouchID: false, baseline: baseline,
      platformFamily: platformFamily)
    switch credential {
    case .hardwareKeys(let keys):
      for key in keys {
        standing.keyProtections.insert(key.protection)
        standing.provenKeys[key.protection] = key.attestation?.level ?? .none
        if key.attestation?.isOfListedApp == true { standing.provenKeys.ofListedApps.insert(key.protection) }
      }
    case .profileTouchID:
      standing.holdsProfileTouchID = true
    case .passkey(let passkey):
      standing.holdsPasskey = true
      standing.show(passkey)
    }
    return standing
  }

  /// The key that serves `factor`, if the binding has one: there is at most one for each.
  func key(for factor: Factor) -> HardwareKeyRecord? {
    guard case .hardwareKeys(let keys) = credential else { return nil }
    return keys.first { $0.protection.factor == factor }
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

  /// Returns the count of attempts at the secret for a caller that names this profile.
  func secretCount(of kind: Factor, standIn: ProfileRecord) -> SecretCount {
    SecretCount(own: secret(kind)?.standing, standIn: standIn.secret(kind)?.standing)
  }

  mutating func setSecret(_ secret: SecretRecord?, _ kind: Factor) {
    if kind == .gesture { gesture = secret } else { passcode = secret }
  }
}

extension ProfileStanding {
  /// A stand-in's, with the counts of the secrets that the profile has and switched off.
  fileprivate func counting(on profile: ProfileRecord, standIn: ProfileRecord) -> ProfileStanding {
    var standing = self
    for kind in [Factor.passcode, .gesture] where settings.isEnabled(kind) {
      let count = profile.secretCount(of: kind, standIn: standIn)
      if count.isSet { standing.setSecret(count.standing, for: kind) }
    }
    return standing
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
    if exchange.trace != nil {
      readSubject(
        named, digest: digest, of: applicationID, evaluation: evaluation, for: exchange,
        then: exchange.tracing(.read, until: body))
    } else {
      readSubject(named, digest: digest, of: applicationID, evaluation: evaluation, for: exchange, then: body)
    }
  }

  private func readSubject<Response>(
    _ named: EvaluationSubject, digest: [UInt8]?, of applicationID: String, evaluation: ExpiringKey?,
    for exchange: Exchange<Response>, then body: @escaping @Sendable (Subject) throws(RequestError) -> Void
  ) {
    switch named {
    case .binding(let bindingID):
      store.attemptRecords(
        for: .binding(applicationID: applicationID, bindingID: bindingID), vendor: vendor(of: applicationID),
        evaluation: evaluation,
        completion: exchange.then { [standIns, keyProofs] records throws(RequestError) in
          try body(
            Subject(
              records, ofBinding: bindingID, standIns, servesPasskeys: keyProofs.passkeys(of: applicationID) != nil))
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

  /// As `subject`, for a binding that the store has at hand, and without its closures. `nil`: call `subject`.
  func subjectAtHand<Response>(
    ofBinding bindingID: String, of applicationID: String, for exchange: Exchange<Response>
  ) throws(RequestError) -> Subject? {
    do throws(StoreError) {
      let records = try store.attemptRecordsAtHand(
        ofBinding: bindingID, applicationID: applicationID, vendor: vendor(of: applicationID))
      guard let records else { return nil }
      return Subject(
        records, ofBinding: bindingID, standIns, servesPasskeys: keyProofs.passkeys(of: applicationID) != nil)
    } catch {
      throw exchange.logged(error)
    }
  }

  /// Reads the stand-in even if the profile is known, so that both cases take the same time.
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
  /// - Parameter servesPasskeys: asked only for an unknown binding.
  fileprivate init(
    _ records: AttemptRecords, ofBinding bindingID: String, _ standIns: StandIns,
    servesPasskeys: @autoclosure () -> Bool
  ) {
    if let binding = records.sharedBinding {
      self.init(
        records: records, matchesNoSecret: binding.value.isRevoked, profileID: binding.value.profileID,
        bindingStanding: binding.value.standing,
        profileStanding: records.profile.standing)
    } else {
      self.init(
        records: records, matchesNoSecret: true, profileID: nil,
        bindingStanding: standIns.standing(
          ofUnknownBinding: bindingID, in: records.profile.applicationID, servesPasskeys: servesPasskeys()),
        profileStanding: standIns.standing(of: records.profile, hasSecret: false))
    }
  }

  fileprivate init(_ records: AttemptRecords, standIn: ProfileRecord, _ standIns: StandIns) {
    let isAsked = records.profile.standing.hasUsableSecret
    // An unknown profile succeeds by no factor, not even by the caller's own login (R37).
    let isKnown = records.profile.version > 0
    var bindingStanding = BindingStanding.absent
    bindingStanding.isActive = isKnown
    self.init(
      records: records, matchesNoSecret: !isAsked, standIn: SharedRecord(standIn),
      profileID: isKnown ? records.profile.profileID : nil,
      bindingStanding: bindingStanding,
      profileStanding: isAsked
        ? records.profile.standing
        : standIns.standing(of: standIn, hasSecret: true).counting(on: records.profile, standIn: standIn))
  }

  /// Offers no secret for an unknown bearer, and accepts none for a known one.
  fileprivate init(ofBearer records: AttemptRecords) {
    var found = records.sharedBinding?.value.standing
    found?.isFoundByProfileTouchID = true
    self.init(
      records: records, matchesNoSecret: false, profileID: records.sharedBinding?.value.profileID,
      bindingStanding: found ?? .bearer, profileStanding: records.profile.standing)
  }

  /// In an evaluation that names nobody. Until its proof succeeds, a known passkey shows no more of its profile than an unknown
  /// one (R37).
  init(ofPasskeyBearer records: AttemptRecords) {
    var standing = BindingStanding.bearer
    standing.isActive = records.sharedBinding != nil
    standing.show(records.binding?.passkey)
    self.init(
      records: records, matchesNoSecret: false, profileID: records.sharedBinding?.value.profileID,
      bindingStanding: standing, profileStanding: ProfileRecord.placeholder(in: "").standing)
  }

  /// For an evaluation that names no profile, before the person is identified. Reads nothing.
  static func unnamed(in applicationID: String) -> Subject {
    Subject(
      ofBearer: AttemptRecords(
        binding: nil, device: .placeholder, profile: .placeholder(in: applicationID), evaluation: nil))
  }
}
