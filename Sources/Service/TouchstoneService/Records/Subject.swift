// The subject of an evaluation: a binding, a profile, or the bearer of a ProfileTouchID. An unknown profile's name
// leads to the answers of a known one (R37).

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
  /// True: the profile that was named is unknown or has no active secret, and no passcode or gesture matches.
  private var matchesNoSecret = false
  /// A named profile's. It counts the attempts on a secret that the profile does not have.
  private var name: UnknownName?
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

  /// The person's own profile; for an unknown binding or bearer, a placeholder.
  var profile: ProfileRecord {
    _read { yield records.profile }
  }

  var evaluation: EvaluationRecord? {
    _read { yield records.evaluation }
  }

  /// What counts attempts with a passcode or gesture. It is what counts old secrets, too (`SecretCount`): a
  /// switched-off secret counts on the profile, although no attempt matches it.
  func secretHolder(of kind: Factor) -> SecretHolder { SecretHolder(profile, name, kind) }

  /// The count of attempts at the secret for a caller that names this profile.
  func secretCount(of kind: Factor) -> SecretCount {
    profile.secretCount(of: kind, as: name)
  }

  /// What the name alone counts; `nil`: nothing.
  func nameCount(of kind: Factor) -> NameCount? {
    name.flatMap { name in
      name.standing(of: kind).map { NameCount(standing: $0, kind: kind, holder: .name(name)) }
    }
  }

  /// The evaluation names a binding that is revoked or unknown, so no proof has to be verified.
  var isInactiveBinding: Bool { bindingStanding.scope == .device && !bindingStanding.isActive }

  /// All facts that the rules read, except the attempt.
  func facts(posture: DevicePosture, now: UnixTime) -> AdmissionFacts {
    AdmissionFacts(
      posture: posture, binding: bindingStanding,
      // Until a proof succeeds, an evaluation that names no device shows none.
      device: bindingStanding.scope == .device ? device.biometry : BiometryStanding(), profile: profileStanding,
      evaluation: evaluation?.standing ?? EvaluationStanding(), now: now)
  }

  /// The device's report about itself, to be written with the other changes; `nil`: it is no news, or no active
  /// binding's.
  func note(of seen: SeenPosture) -> PostureNote? {
    guard let binding = sharedBinding, !binding.value.isRevoked, seen.isNews(after: binding.value.lastSeen) else {
      return nil
    }
    return PostureNote(seen: seen, bindingID: binding.value.bindingID)
  }

  /// The named profile, with the records of a passkey of its own. They are read later than the profile, which may have
  /// been made, or erased and made anew, in between: they decide.
  func speaking(by passkey: AttemptRecords) -> Subject {
    var subject = self
    subject.profileID = passkey.binding?.profileID
    subject.bindingStanding.state = .active
    subject.records = AttemptRecords(
      binding: passkey.binding, device: passkey.device, profile: passkey.profile, evaluation: evaluation)
    subject.bindingStanding.show(passkey.binding?.passkey)
    return subject
  }

  /// Conditions for an event that names the subject. A known subject must still exist: after its erasure, the event
  /// would put its name into the log again. A success compares these records anyway.
  ///
  /// - Parameter holder: what counts the attempt with the commit; `nil`: nothing is counted. A profile that counts it
  ///   is compared when it is written.
  func nameRequirements(as named: EvaluationSubject, counting holder: SecretHolder? = nil) -> [Change] {
    if let binding { return [.requireBinding(id: binding.bindingID, version: binding.version)] }
    guard case .profile = named else { return [] }
    return (holder?.isProfile == true ? [] : [.require(profile)]) + (holder == nil ? [] : [.asMuchAsAnyCount])
  }

  /// The verifier of a secret; `nil` if no attempt can match.
  func verifier(of kind: Factor) -> [UInt8]? {
    matchesNoSecret ? nil : profile.secret(kind)?.verifier
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
      state: isRevoked ? .revoked : .active, keyProtections: [], holdsProfileTouchID: false, baseline: baseline,
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
  func secretCount(of kind: Factor, as name: UnknownName?) -> SecretCount {
    SecretCount(own: secret(kind)?.standing, ofName: name?.standing(of: kind))
  }

  mutating func setSecret(_ secret: SecretRecord?, _ kind: Factor) {
    if kind == .gesture { gesture = secret } else { passcode = secret }
  }
}

extension ProfileStanding {
  /// What is shown of a name, with the counts at it, and of the secrets that the profile has and switched off.
  fileprivate func counting(on profile: ProfileRecord, as name: UnknownName) -> ProfileStanding {
    var standing = self
    for kind in [Factor.passcode, .gesture] where settings.isEnabled(kind) {
      standing.setSecret(profile.secretCount(of: kind, as: name).standing, for: kind)
    }
    return standing
  }
}

// MARK: - Reading

/// The question for the records of an evaluation's subject.
struct SubjectQuery: Sendable {
  var named: EvaluationSubject
  /// The digest of the ProfileTouchID that is shown; it names the person if nothing else does. No binding's digest is
  /// empty.
  var digest: [UInt8] = []
  var applicationID: String
  /// `nil`: none is read.
  var evaluation: ExpiringKey?
}

/// The question for the active binding that has a passkey, by the digest of the credential's id.
struct PasskeyQuery: Sendable {
  var digest: [UInt8]
  var applicationID: String
  /// `nil`: none is read.
  var evaluation: ExpiringKey?
}

extension TouchstoneService {
  func records(_ query: SubjectQuery, completion: @escaping @Sendable (Result<AttemptRecords, StoreError>) -> Void) {
    let applicationID = query.applicationID
    switch query.named {
    case .binding(let bindingID):
      store.attemptRecords(
        for: .binding(applicationID: applicationID, bindingID: bindingID), vendor: vendor(of: applicationID),
        evaluation: query.evaluation, completion: completion)
    case .profile(let profileID):
      store.attemptRecords(
        for: .profile(applicationID: applicationID, profileID: profileID), vendor: .everybody,
        evaluation: query.evaluation, completion: completion)
    case .bearer:
      records(
        PasskeyQuery(digest: query.digest, applicationID: applicationID, evaluation: query.evaluation),
        completion: completion)
    }
  }

  /// Reads the records of the active binding whose ProfileTouchID or passkey has the digest.
  func records(_ query: PasskeyQuery, completion: @escaping @Sendable (Result<AttemptRecords, StoreError>) -> Void) {
    store.attemptRecords(
      for: .profileTouchID(applicationID: query.applicationID, digest: query.digest),
      vendor: vendor(of: query.applicationID), evaluation: query.evaluation, completion: completion)
  }

  func subject(_ named: EvaluationSubject, of records: AttemptRecords) -> Subject {
    switch named {
    case .binding: Subject(ofBinding: records)
    case .profile: Subject(ofProfile: records, unknownNames)
    case .bearer: Subject(ofBearer: records)
    }
  }

  func subject<Response>(
    _ query: SubjectQuery, for exchange: Exchange<Response>
  ) async throws(RequestError) -> Subject {
    let part = exchange.begin(.read)
    let records: AttemptRecords = try await exchange.value { self.records(query, completion: $0) }
    part?.end()
    return subject(query.named, of: records)
  }

  /// Reads the records once, for a call that writes nothing, and runs `body` on the call's event loop. A binding that
  /// the store has at hand needs no closure that outlives this function, and a subject without a name needs no records.
  func read<Response>(
    _ query: SubjectQuery, for exchange: Exchange<Response>, _ body: @escaping @Sendable (Subject) -> Void
  ) throws(RequestError) {
    switch query.named {
    case .bearer: return body(.unnamed(in: query.applicationID))
    case .binding(let id):
      if let subject = try subjectAtHand(ofBinding: id, of: query.applicationID, for: exchange) { return body(subject) }
    case .profile: break
    }
    let part = exchange.begin(.read)
    records(query) { [self] result in
      exchange.onLoop {
        part?.end()
        switch result {
        case .success(let records): body(self.subject(query.named, of: records))
        case .failure(let error): exchange.refuse(exchange.logged(error))
        }
      }
    }
  }

  private func subjectAtHand<Response>(
    ofBinding bindingID: String, of applicationID: String, for exchange: Exchange<Response>
  ) throws(RequestError) -> Subject? {
    do throws(StoreError) {
      let records = try store.attemptRecordsAtHand(
        ofBinding: bindingID, applicationID: applicationID, vendor: vendor(of: applicationID))
      return records.map { Subject(ofBinding: $0) }
    } catch {
      throw exchange.logged(error)
    }
  }
}

extension Subject {
  init(ofBinding records: AttemptRecords) {
    self.init(
      records: records, profileID: records.sharedBinding?.value.profileID,
      bindingStanding: records.sharedBinding?.value.standing ?? .unknown, profileStanding: records.profile.standing)
  }

  /// Looks the name up even if the profile is known, so that both cases take the same time.
  init(ofProfile records: AttemptRecords, _ names: UnknownNames) {
    let (profile, name) = (records.profile, names.name(of: records.profile))
    let isAsked = profile.standing.hasUsableSecret
    // An unknown profile succeeds by no factor, not even by the caller's own login (R37).
    let isKnown = profile.version > 0
    var bindingStanding = BindingStanding.absent
    bindingStanding.state = isKnown ? .active : .unknown
    self.init(
      records: records, matchesNoSecret: !isAsked, name: name, profileID: isKnown ? profile.profileID : nil,
      bindingStanding: bindingStanding,
      profileStanding: isAsked ? profile.standing : names.looks(of: profile).counting(on: profile, as: name))
  }

  /// Offers no secret for an unknown bearer, and accepts none for a known one.
  fileprivate init(ofBearer records: AttemptRecords) {
    var found = records.sharedBinding?.value.standing
    found?.isFoundByProfileTouchID = true
    self.init(
      records: records, profileID: records.sharedBinding?.value.profileID,
      bindingStanding: found ?? .bearer, profileStanding: records.profile.standing)
  }

  /// In an evaluation that names nobody. Until its proof succeeds, a known passkey shows no more of its profile than an
  /// unknown one (R37).
  init(ofPasskeyBearer records: AttemptRecords) {
    var standing = BindingStanding.bearer
    standing.state = records.sharedBinding == nil ? .unknown : .active
    standing.show(records.binding?.passkey)
    self.init(
      records: records, profileID: records.sharedBinding?.value.profileID,
      bindingStanding: standing, profileStanding: ProfileRecord.placeholder(in: "").standing)
  }

  /// For an evaluation that names no profile, before the person is identified. Reads nothing.
  static func unnamed(in applicationID: String) -> Subject {
    Subject(
      ofBearer: AttemptRecords(
        binding: nil, device: .placeholder, profile: .placeholder(in: applicationID), evaluation: nil))
  }
}
