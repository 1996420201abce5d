// A caller without a proof gets the same answers whether a binding is active, revoked or unknown, and whether a profile
// is known or not (R37).

import Encodings
import SimulatedPhone
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Sends the same requests about subjects that a caller without their phone or secret must not be able to tell apart,
/// and compares the answers.
final class Mirror {
  private unowned let world: World
  private unowned let people: People
  private let applicationID = Names.Mirrored.application
  private let strangersKey: SoftwareKey
  private var chance: Chance { world.chance }

  /// The subject that a request names.
  private enum Named {
    case binding(String)
    case profile(String)
  }

  init(world: World, people: People) {
    self.world = world
    self.people = people
    strangersKey = people.keys.take()
  }

  /// The clock moves only between the rounds, because a request at another time may be answered otherwise.
  func compare() {
    world.withStillClock {
      let subjects =
        switch chance.below(10) {
        case 0..<4: bindings()
        case 4..<6: bindingsWithAPast()
        default: profiles()
        }
      guard let subjects, world.violation == nil else { return }
      compare(subjects)
    }
  }

  // MARK: Subjects

  /// An active one, a revoked one, and one that never was, all of the kind that the unknown one seems to be: known ones
  /// like it are possible.
  private func bindings() -> [Named]? {
    let unknown = Base64URL.encode(chance.bytes(16))
    let kind = World.standIns.standing(ofUnknownBinding: unknown, in: applicationID)
    // All phones here are of this family; one of another is refused before any other check (R38).
    guard kind.platformFamily == .iOS else { return nil }
    let holder = ProfileRecord(
      applicationID: applicationID, profileID: ProfileRecord.standInID(forUnknownBinding: unknown))
    let person = World.standIns.standing(of: holder, hasSecret: false)
    guard let active = bind(Phone(deviceID: Names.Mirrored.device), like: kind, person),
      let revoked = bind(Phone(deviceID: Names.Mirrored.formerDevice), like: kind, person),
      world.ask(V1.RevokeBindingRequest(applicationID: applicationID, bindingID: revoked, reason: Names.reason)) != nil
    else { return nil }
    return [.binding(active), .binding(revoked), .binding(unknown)]
  }

  /// An active one and a revoked one, on both of which something was counted before the revocation.
  private func bindingsWithAPast() -> [Named]? {
    let someone = Base64URL.encode(chance.bytes(16))
    let kind = World.standIns.standing(ofUnknownBinding: someone, in: applicationID)
    let holder = ProfileRecord(
      applicationID: applicationID, profileID: ProfileRecord.standInID(forUnknownBinding: someone))
    let person = World.standIns.standing(of: holder, hasSecret: false)
    guard let active = bind(Phone(deviceID: Names.Mirrored.device), like: kind, person),
      let revoked = bind(Phone(deviceID: Names.Mirrored.formerDevice), like: kind, person)
    else { return nil }
    let posture = posture()
    for _ in 0..<chance.within(1...6) {
      let attempt = wrongAttempt()
      for binding in [active, revoked] {
        guard let opened = begin(.binding(binding), "login", posture), opened.denial == nil else { continue }
        _ = submit(attempt, to: opened, posture)
      }
    }
    guard world.ask(V1.RevokeBindingRequest(applicationID: applicationID, bindingID: revoked)) != nil else {
      return nil
    }
    return [.binding(active), .binding(revoked)]
  }

  /// One with secrets, one that switched them off, and one that never was.
  private func profiles() -> [Named]? {
    let (known, unknown) = (newProfileID(), newProfileID())
    let person = standIn(of: unknown)
    setUp(known, like: person)
    // Its own stand-in answers for it.
    var switchedOff = newProfileID()
    while standIn(of: switchedOff) != person { switchedOff = newProfileID() }
    var owner = ProfileStanding()
    owner.passcode.isSet = chance.happens(70)
    setUp(switchedOff, like: owner)
    return [.profile(known), .profile(switchedOff), .profile(unknown)]
  }

  private func standIn(of profileID: String) -> ProfileStanding {
    let holder = ProfileRecord(
      applicationID: applicationID, profileID: ProfileRecord.standInID(forProfile: profileID))
    return World.standIns.standing(of: holder, hasSecret: true)
  }

  /// The ids have one length, because sealed content is as long as its plain text.
  private func newProfileID() -> String {
    let profileID = Base64URL.encode(chance.bytes(12))
    world.ledger.note(name: profileID)
    return profileID
  }

  private func bind(_ phone: Phone, like kind: BindingStanding, _ person: ProfileStanding) -> String? {
    let profileID = newProfileID()
    phone.osMajorVersion = Int(kind.baseline?.osMajorVersion ?? 0)
    let request = V1.BeginBindingRequest(
      applicationID: applicationID, profileID: profileID, deviceID: phone.deviceID,
      primary: people.primary(ageSeconds: 1), posture: phone.posture(in: applicationID))
    guard let response = world.ask(request) else { return nil }
    var credential = Credential(applicationID: applicationID, profileID: profileID, bindingID: "")
    credential.keys = kind.keyProtections.map { protection in
      GuardedKey(key: people.keys.take(), protection: V1.KeyProtection(rawValue: Int32(protection.rawValue)))
    }
    if kind.holdsProfileTouchID { credential.profileTouchID = chance.bytes(32) }
    let completion = people.completion(
      of: Enrolment(phone: phone, request: request, response: response), by: credential, replaceExisting: false)
    setUp(profileID, like: person)
    return world.ask(completion)?.binding?.bindingID
  }

  private func setUp(_ profileID: String, like person: ProfileStanding) {
    if person.passcode.isSet {
      set(V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: Names.passcodes[0]))), for: profileID)
    }
    if person.gesture.isSet {
      set(V1.Secret(kind: .gesture(V1.GestureProof(points: Names.gestures[0]))), for: profileID)
    }
    let settings = person.settings
    let answer = world.ask(
      V1.SetUnlockSettingsRequest(
        applicationID: applicationID, profileID: profileID,
        settings: V1.UnlockSettings(
          biometryEnabled: settings.isBiometryEnabled, gestureEnabled: settings.isGestureEnabled,
          passcodeEnabled: settings.isPasscodeEnabled,
          preferred: V1.Factor(rawValue: Int32(settings.preferred?.rawValue ?? 0)))))
    world.require(answer != nil, "R17", "settings that there may be are refused")
  }

  private func set(_ secret: V1.Secret, for profileID: String) {
    let answer = world.ask(
      V1.SetSecretRequest(
        applicationID: applicationID, profileID: profileID, secret: secret, confirmation: secret,
        authority: .primary(people.primary(ageSeconds: 1))))
    world.require(answer?.accepted == true, "R16", "a first secret is refused")
  }

  // MARK: Asking

  /// A stranger's phone, by its own report.
  private func posture() -> V1.DevicePosture {
    let phone = Phone(deviceID: "a stranger's phone")
    phone.osMajorVersion = chance.pick([8, 9, 17, 26, 27])
    phone.isLockedOut = chance.happens(10)
    phone.isSensorBroken = chance.happens(10)
    return phone.posture(in: applicationID)
  }

  private static let policies = [
    "login", "login", "payment", "deviceOwnerAuthentication", "deviceOwnerAuthenticationWithBiometrics", "everything",
  ]

  private func compare(_ subjects: [Named]) {
    var opened: [[V1.BeginEvaluationResponse]] = []
    for _ in 0..<chance.within(4...10) where world.violation == nil {
      let posture = posture()
      switch chance.below(10) {
      case 0..<3:
        let policy = chance.pick(Self.policies)
        let answers = subjects.compactMap { begin($0, policy, posture) }
        requireAlike(answers.map(\.withoutItsOwn), "begins \(policy)")
        if answers.allSatisfy({ $0.denial == nil }) { opened.append(answers) }
      case 3:
        let policy = chance.pick(Self.policies)
        requireAlike(subjects.compactMap { preflight($0, policy, posture) }, "asks for \(policy)")
      case 4:
        let secret = wrongSecret()
        requireAlike(subjects.compactMap { change(of: $0, by: secret) }, "changes by a wrong old secret")
      case 5: world.pass(.seconds(chance.pick([1, 59, 61, 119, 301])))
      case 6:
        guard let one = chance.pickAny(opened) else { continue }
        requireAlike(one.compactMap(invalidate), "invalidates")
      default:
        guard let one = chance.pickAny(opened) else { continue }
        let attempt = wrongAttempt()
        requireAlike(one.compactMap { submit(attempt, to: $0, posture) }, "tries \(attempt.factorName ?? "nothing")")
      }
    }
  }

  private func requireAlike<Answer: Equatable>(_ answers: [Answer], _ what: @autoclosure () -> String) {
    guard let first = answers.first else { return }
    world.require(answers.allSatisfy { $0 == first }, "R37", "a stranger \(what()), and is told apart: \(answers)")
  }

  private func begin(_ subject: Named, _ policy: String, _ posture: V1.DevicePosture) -> V1.BeginEvaluationResponse? {
    var request = V1.BeginEvaluationRequest(
      applicationID: applicationID, policy: policy, localizedReason: "Let me in",
      transaction: policy == "payment" ? People.transactions[0] : nil, posture: posture)
    switch subject {
    case .binding(let id): request.bindingID = id
    case .profile(let id): request.profileID = id
    }
    return world.ask(request)
  }

  private func preflight(
    _ subject: Named, _ policy: String, _ posture: V1.DevicePosture
  ) -> V1.CanEvaluatePolicyResponse? {
    var request = V1.CanEvaluatePolicyRequest(applicationID: applicationID, policy: policy, posture: posture)
    switch subject {
    case .binding(let id): request.bindingID = id
    case .profile(let id): request.profileID = id
    }
    return world.ask(request)
  }

  private func wrongSecret() -> V1.Secret {
    chance.happens(50)
      ? V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: "000111")))
      : V1.Secret(kind: .gesture(V1.GestureProof(points: [8, 7, 6, 3])))
  }

  /// `nil` for a binding, whose profile is unknown to a stranger.
  private func change(of subject: Named, by secret: V1.Secret) -> V1.SetSecretResponse? {
    guard case .profile(let profileID) = subject else { return nil }
    return world.ask(
      V1.SetSecretRequest(
        applicationID: applicationID, profileID: profileID, secret: secret, confirmation: secret,
        authority: .oldSecret(secret)))
  }

  private func invalidate(_ opened: V1.BeginEvaluationResponse) -> V1.InvalidateEvaluationResponse? {
    world.ask(V1.InvalidateEvaluationRequest(applicationID: applicationID, evaluation: opened.evaluation))
  }

  private enum WrongAttempt {
    case key(V1.Factor)
    case other(V1.SubmitAttemptRequest.Attempt)

    var factorName: String? {
      switch self {
      case .key: "a key"
      case .other(let attempt): attempt.factorName
      }
    }
  }

  private func wrongAttempt() -> WrongAttempt {
    switch chance.below(6) {
    case 0: .key(.biometry)
    case 1: .key(.deviceOwner)
    case 2: .other(.profileTouchID(V1.ProfileTouchIDProof(profileTouchID: chance.bytes(32))))
    case 3: .other(.gesture(V1.GestureProof(points: [8, 7, 6, 3])))
    case 4:
      .other(.report(V1.DeviceReport(laError: chance.pick([.authenticationFailed, .userCancel, .biometryLockout]))))
    default: .other(.passcode(V1.PasscodeProof(passcode: "000111")))
    }
  }

  private func submit(
    _ attempt: WrongAttempt, to opened: V1.BeginEvaluationResponse, _ posture: V1.DevicePosture
  ) -> V1.SubmitAttemptResponse? {
    let proof: V1.SubmitAttemptRequest.Attempt =
      switch attempt {
      case .key(let factor):
        .key(V1.KeyProof(signature: people.sign(opened.signingInput, with: strangersKey), factor: factor))
      case .other(let attempt): attempt
      }
    return world.ask(
      V1.SubmitAttemptRequest(
        applicationID: applicationID, evaluation: opened.evaluation, attempt: proof, posture: posture))
  }
}

extension V1.BeginEvaluationResponse {
  /// The answer with the lengths of its random parts in their place.
  fileprivate var withoutItsOwn: V1.BeginEvaluationResponse {
    var answer = self
    answer.evaluation = Array("\(evaluation.count)".utf8)
    answer.signingInput = Array("\(signingInput.count)".utf8)
    return answer
  }
}
