// An attacker on the line, who sees every answer and every proof that is sent, has a key of their own, and tries.

import SimulatedPhone
import TestSupport
import TouchstoneCodec
import TouchstoneCrypto

final class Attacker {
  unowned let world: World
  unowned let people: People
  let ownKey: PhonesKey
  let ownRSA = KeyPool.strangersRSA
  let ownHybrid: HybridKey
  /// Passkeys that were read out of their authenticators.
  var clones: [Credential] = []
  var chance: Chance { world.chance }

  init(world: World, people: People) {
    self.world = world
    self.people = people
    ownKey = people.keys.take()
    ownHybrid = people.keys.takeHybrid()
  }

  func act() {
    switch chance.below(25) {
    case 0: guessKey()
    case 1, 2: guessSecret()
    case 3: guessProfileTouchID()
    case 4: replay()
    case 5: swapApplication()
    case 6: tamper()
    case 7: race()
    case 8: raceSecrets()
    case 9: openForeign()
    case 10: lie()
    case 11: enrolBySomebodyElsesKey()
    case 12: abuseToken()
    case 13: changeSecret()
    case 14: attest()
    case 15: world.hangUp()
    case 16: downgrade()
    case 17: useClone()
    case 18: useAnothersPasskey()
    case 19: phish()
    case 20: registerAgain()
    case 21: forgeVouching()
    case 22: moveVouching()
    case 23: sendHeldBack()
    default: garble()
    }
  }

  /// A key of either kind, whatever kind is bound.
  var someKey: PhonesKey { chance.happens(70) ? ownKey : ownRSA }

  var somePrompt: Prompt? { people.somePrompt() }

  // MARK: Guessing

  /// A signature by a key that is not bound.
  private func guessKey() {
    guard let prompt = somePrompt else { return }
    let signature = people.sign(prompt.response.signingInput, with: someKey)
    people.submit(.key(V1.KeyProof(signature: signature, factor: someFactor())), to: prompt)
  }

  private func someFactor() -> V1.Factor { chance.happens(80) ? .biometry : .deviceOwner }

  private func guessSecret() {
    guard let prompt = somePrompt else { return }
    people.submit(secretGuess(), to: prompt)
  }

  /// The guess is right if its person chose a common secret.
  private func secretGuess() -> V1.SubmitAttemptRequest.Attempt {
    if chance.happens(70) {
      return .passcode(V1.PasscodeProof(passcode: chance.happens(90) ? "000111" : chance.pick(Names.passcodes)))
    }
    return .gesture(V1.GestureProof(points: chance.happens(90) ? [8, 7, 6, 3] : chance.pick(Names.gestures)))
  }

  private func guessProfileTouchID() {
    guard let prompt = somePrompt else { return }
    people.submit(.profileTouchID(V1.ProfileTouchIDProof(profileTouchID: chance.bytes(32))), to: prompt)
  }

  // MARK: Replaying

  /// Sends a signature for one evaluation to another.
  private func replay() {
    guard let signed = somePrompt, let prompt = somePrompt, let key = signed.credential.key(for: .biometry) else {
      return
    }
    let signature = people.sign(signed.response.signingInput, with: key)
    people.submit(.key(V1.KeyProof(signature: signature, factor: someFactor())), to: prompt)
  }

  /// An evaluation of one application, as if it were another's.
  private func swapApplication() {
    guard var prompt = somePrompt, let attempt = people.proof(for: prompt) else { return }
    prompt.request.applicationID = chance.pick(Names.applications)
    people.submit(attempt, to: prompt)
  }

  /// One bit of something sealed or signed is another.
  private func tamper() {
    guard var prompt = somePrompt, let attempt = people.proof(for: prompt) else { return }
    switch attempt {
    case .key(var proof) where chance.happens(10):
      proof.signatureForm = proof.signatureForm == .raw ? .base64URLText : .raw
      people.submit(.key(proof), to: prompt)
    case .key(var proof) where chance.happens(50):
      if proof.mlDsa65Signature.isEmpty || chance.happens(50) {
        flip(&proof.signature)
      } else {
        flip(&proof.mlDsa65Signature)
      }
      people.submit(.key(proof), to: prompt)
    case .passkey(var proof) where chance.happens(80):
      switch chance.below(5) {
      case 0: flip(&proof.signature)
      case 1: flip(&proof.authenticatorData)
      case 2: flip(&proof.clientDataJSON)
      case 3: flip(&proof.credentialID)
      default: flip(&proof.userHandle)
      }
      people.submit(.passkey(proof), to: prompt)
    default:
      flip(&prompt.response.evaluation)
      people.submit(attempt, to: prompt)
    }
  }

  func flip(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else { return }
    bytes[chance.below(bytes.count)] ^= UInt8(1 << chance.below(8))
  }

  // MARK: Racing

  /// The same again and again, to all replicas at once.
  private func race() {
    let count = chance.within(2...6)
    if chance.happens(30), let token = chance.pickAny(people.wallet.tokens) {
      let request = V1.ConsumeTokenRequest(
        applicationID: token.applicationID, token: token.text, transaction: token.transaction)
      for _ in 0..<count { world.send(request) }
    } else if chance.happens(20), let enrolment = chance.pickAny(people.wallet.enrolments) {
      raceEnrolments(enrolment, count)
    } else if let prompt = somePrompt, let attempt = people.proof(for: prompt) {
      let request = people.attemptRequest(attempt, to: prompt)
      for _ in 0..<count { world.send(request) }
    }
  }

  private func raceEnrolments(_ enrolment: Enrolment, _ count: Int) {
    for _ in 0..<count {
      if enrolment.isForPasskey {
        world.send(people.completion(of: enrolment, by: people.register(for: enrolment).1))
        continue
      }
      let credential = Credential(
        applicationID: enrolment.request.applicationID, profileID: "", bindingID: "", keys: people.makeKeys())
      world.send(people.completion(of: enrolment, by: credential, replaceExisting: true))
    }
  }

  /// More guesses at once than the ladder has rungs.
  private func raceSecrets() {
    guard let prompt = somePrompt else { return }
    for _ in 0..<chance.within(4...12) { world.send(people.attemptRequest(secretGuess(), to: prompt)) }
  }

  // MARK: Lying

  /// An evaluation of a binding that is not there, or is another application's.
  private func openForeign() {
    let phone = chance.pick(people.phones)
    let other = chance.pick(Names.applications)
    let unknown = chance.pick(Names.unknownBindings)
    var stolen = phone.credential(in: other) ?? Credential(applicationID: other, profileID: "", bindingID: unknown)
    if chance.happens(30) { stolen.bindingID = unknown }
    people.begin(phone, chance.pick(Names.applications), as: stolen)
  }

  /// A device that reports events that did not happen, or reports that it is locked and has no domain state.
  private func lie() {
    guard let prompt = somePrompt else { return }
    if chance.happens(40), let attempt = people.proof(for: prompt) {
      var request = people.attemptRequest(attempt, to: prompt)
      request.posture?.biometryLockedOut = true
      request.posture?.domainState = []
      world.send(request)
      return
    }
    let code: V1.LAError = chance.happens(70) ? .authenticationFailed : .biometryLockout
    people.submit(.report(V1.DeviceReport(laError: code)), to: prompt)
  }

  /// Another person's ticket, or another person's key.
  private func enrolBySomebodyElsesKey() {
    guard let enrolment = chance.pickAny(people.wallet.enrolments),
      let signed = chance.pickAny(people.wallet.enrolments)
    else { return }
    let victim = chance.pick(people.phones).credential(in: enrolment.request.applicationID)?.key(for: .biometry)
    let key = V1.HardwareKey(
      publicKey: (victim ?? someKey).publicKey, protection: .biometryCurrentSet,
      signature: people.sign(signed.response.signingInput, with: someKey))
    world.send(
      V1.CompleteBindingRequest(
        applicationID: chance.pick(Names.applications), ticket: enrolment.response.ticket, deviceName: "mine",
        keys: [key], posture: enrolment.phone.posture(in: enrolment.request.applicationID), replaceExisting: true))
  }

  /// Another person's ticket, by a key of the attacker's own, and certificates that do not prove it (R44): of unknown
  /// hardware, of another ticket, or of another key.
  private func attest() {
    guard let enrolment = chance.pickAny(people.wallet.enrolments),
      let other = chance.pickAny(people.wallet.enrolments)
    else { return }
    let (input, otherInput) = (enrolment.response.signingInput, other.response.signingInput)
    let kind = chance.below(3)
    guard kind != 1 || input != otherInput else { return }
    let maker = kind == 0 ? World.forger : World.maker
    let made = maker.key(AndroidMaker.KeyDescription(challenge: sha256(kind == 1 ? otherInput : input)))
    guard let key = kind == 2 ? someKey : SoftwareKey(scalar: made.scalar).map(PhonesKey.p256) else { return }
    var posture = enrolment.phone.posture(in: enrolment.request.applicationID)
    (posture.platform, posture.domainState) = ("android", [])
    world.send(
      V1.CompleteBindingRequest(
        applicationID: enrolment.request.applicationID, ticket: enrolment.response.ticket, deviceName: "mine",
        keys: [
          V1.HardwareKey(
            publicKey: key.publicKey, protection: .biometryCurrentSet, signature: people.sign(input, with: key),
            certificateChain: made.chain)
        ], posture: posture, replaceExisting: true))
  }

  /// For another transaction, in another application, or changed.
  private func abuseToken() {
    guard let token = chance.pickAny(people.wallet.tokens) else { return }
    var text = Array(token.text.utf8)
    if chance.happens(30) {
      let place = chance.below(text.count)
      text[place] = text[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    }
    let applicationID = chance.happens(50) ? token.applicationID : chance.pick(Names.applications)
    if chance.happens(30) {
      world.send(V1.IntrospectTokenRequest(applicationID: applicationID, token: String(decoding: text, as: UTF8.self)))
    } else {
      world.send(
        V1.ConsumeTokenRequest(
          applicationID: applicationID, token: String(decoding: text, as: UTF8.self),
          transaction: chance.happens(80) ? chance.pick(People.transactions) : nil))
    }
  }

  /// With an old one that is guessed, or a login of long ago.
  private func changeSecret() {
    let own = V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: "attackers own")))
    let guess = V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: "000111")))
    world.send(
      V1.SetSecretRequest(
        applicationID: chance.pick(Names.applications), profileID: chance.pick(Names.profiles), secret: own,
        confirmation: own,
        authority: chance.happens(80) ? .oldSecret(guess) : .primary(people.primary(ageSeconds: 100_000))))
  }

  /// Bytes that may be no request at all, or one that no caller intended.
  private func garble() {
    guard var sent = chance.pickAny(world.recentMessages) else { return }
    for _ in 0..<chance.within(1...4) { flip(&sent.bytes) }
    if chance.happens(30), !sent.bytes.isEmpty { sent.bytes.removeLast(chance.below(sent.bytes.count)) }
    if chance.happens(20), let other = chance.pickAny(world.recentMessages) { sent.type = other.type }
    world.send(sent.bytes, as: sent.type)
  }
}
