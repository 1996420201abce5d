// A caller without a proof gets the same answers whether a profile is known or not (R37).

import Encodings
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// Sends the same requests about subjects that a caller without their phone or secret must not be able to tell apart,
/// and compares the answers.
final class Mirror {
  private unowned let world: World
  private unowned let people: People
  private let applicationID = Names.Mirrored.application
  private let strangersKey: PhonesKey
  private var chance: Chance { world.chance }

  init(world: World, people: People) {
    self.world = world
    self.people = people
    strangersKey = people.keys.take()
  }

  /// The clock moves only between the rounds, because a request at another time may be answered otherwise.
  func compare() {
    world.withStillClock {
      let profileIDs = profiles()
      guard world.violation == nil else { return }
      compare(profileIDs)
    }
  }

  // MARK: Subjects

  /// One with secrets, one that switched them off, and one that never was.
  private func profiles() -> [String] {
    let (known, unknown) = (newProfileID(), newProfileID())
    let person = looks(of: unknown)
    setUp(known, like: person)
    // Its own name answers for it.
    var switchedOff = newProfileID()
    while looks(of: switchedOff) != person { switchedOff = newProfileID() }
    var owner = ProfileStanding()
    owner.passcode.isSet = chance.happens(70)
    setUp(switchedOff, like: owner)
    return [known, switchedOff, unknown]
  }

  private func looks(of profileID: String) -> ProfileStanding {
    World.unknownNames.looks(of: ProfileRecord(applicationID: applicationID, profileID: profileID))
  }

  /// The ids have one length, because sealed content is as long as its plain text.
  private func newProfileID() -> String {
    let profileID = Base64URL.encode(chance.bytes(12))
    world.ledger.note(name: profileID)
    return profileID
  }

  private func setUp(_ profileID: String, like person: ProfileStanding) {
    if person.passcode.isSet {
      set(V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: Names.passcodes[0]))), for: profileID)
    }
    if person.gesture.isSet {
      set(V1.Secret(kind: .gesture(V1.GestureProof(points: Names.gestures[0]))), for: profileID)
    }
    let settings = person.settings
    let answer = ask(
      V1.SetUnlockSettingsRequest(
        applicationID: applicationID, profileID: profileID,
        settings: V1.UnlockSettings(
          biometryEnabled: settings.isBiometryEnabled, gestureEnabled: settings.isGestureEnabled,
          passcodeEnabled: settings.isPasscodeEnabled,
          preferred: V1.Factor(rawValue: Int32(settings.preferred?.rawValue ?? 0)))))
    world.require(answer != nil, "R17", "settings that there may be are refused")
  }

  private func set(_ secret: V1.Secret, for profileID: String) {
    let answer = ask(
      V1.SetSecretRequest(
        applicationID: applicationID, profileID: profileID, secret: secret, confirmation: secret,
        authority: .primary(people.primary(ageSeconds: 1))))
    world.require(answer?.accepted == true, "R16", "a first secret is refused")
  }

  // MARK: Asking

  /// One replica: each has counts of its own of unknown names.
  private func ask<R: Request>(_ request: R) -> R.Answer? { world.ask(request, of: world.replicas.first) }

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

  private func compare(_ profileIDs: [String]) {
    var opened: [[V1.BeginEvaluationResponse]] = []
    for _ in 0..<chance.within(4...10) where world.violation == nil {
      let posture = posture()
      switch chance.below(10) {
      case 0..<3:
        let policy = chance.pick(Self.policies)
        let answers = profileIDs.compactMap { begin($0, policy, posture) }
        requireAlike(answers.map(\.withoutItsOwn), "begins \(policy)")
        if answers.allSatisfy({ $0.denial == nil }) { opened.append(answers) }
      case 3:
        let policy = chance.pick(Self.policies)
        requireAlike(profileIDs.compactMap { preflight($0, policy, posture) }, "asks for \(policy)")
      case 4:
        let secret = wrongSecret()
        requireAlike(profileIDs.compactMap { change(of: $0, by: secret) }, "changes by a wrong old secret")
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

  private func begin(_ profileID: String, _ policy: String, _ posture: V1.DevicePosture) -> V1.BeginEvaluationResponse?
  {
    let request = V1.BeginEvaluationRequest(
      applicationID: applicationID, policy: policy, localizedReason: "Let me in",
      transaction: policy == "payment" ? People.transactions[0] : nil, posture: posture, profileID: profileID)
    return ask(request)
  }

  private func preflight(
    _ profileID: String, _ policy: String, _ posture: V1.DevicePosture
  ) -> V1.CanEvaluatePolicyResponse? {
    let request = V1.CanEvaluatePolicyRequest(
      applicationID: applicationID, policy: policy, posture: posture, profileID: profileID)
    return ask(request)
  }

  private func wrongSecret() -> V1.Secret {
    chance.happens(50)
      ? V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: "000111")))
      : V1.Secret(kind: .gesture(V1.GestureProof(points: [8, 7, 6, 3])))
  }

  private func change(of profileID: String, by secret: V1.Secret) -> V1.SetSecretResponse? {
    ask(
      V1.SetSecretRequest(
        applicationID: applicationID, profileID: profileID, secret: secret, confirmation: secret,
        authority: .oldSecret(secret)))
  }

  private func invalidate(_ opened: V1.BeginEvaluationResponse) -> V1.InvalidateEvaluationResponse? {
    ask(V1.InvalidateEvaluationRequest(applicationID: applicationID, evaluation: opened.evaluation))
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
    return ask(
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
