// The subject of an evaluation: a binding, a profile, or the bearer of a ProfileTouchID. An unknown profile's name
// leads to the answers of a known one (R37).

internal import TouchstonePolicy
internal import TouchstoneStore

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
    if let binding { return [.require(binding)] }
    guard case .profile = named else { return [] }
    return (holder?.isProfile == true ? [] : [.require(profile)]) + (holder == nil ? [] : [.asMuchAsAnyCount])
  }

  /// The verifier of a secret; `nil` if no attempt can match.
  func verifier(of kind: Factor) -> [UInt8]? {
    matchesNoSecret ? nil : profile.secret(kind)?.verifier
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
  init(ofBearer records: AttemptRecords) {
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
