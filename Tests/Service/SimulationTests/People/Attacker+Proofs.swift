// Attacks on what proves more than a key does: hybrid keys, passkeys, the word of an app.

import SimulatedPhone
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy

extension Attacker {
  // MARK: Hybrid keys

  /// An attacker that broke P-256 sends no second signature, one of another key, or one of another evaluation (R48).
  func downgrade() {
    guard let prompt = chance.pickAny(people.wallet.prompts.filter { $0.credential.keys.first?.hybrid != nil }),
      let guarded = prompt.credential.keys.first, let other = somePrompt
    else { return }
    let input = prompt.response.signingInput
    var proof = V1.KeyProof(signature: people.sign(input, with: guarded.key), factor: guarded.factor)
    switch chance.below(3) {
    case 0: break
    case 1: proof.mlDsa65Signature = people.signOtherHalf(input, with: ownHybrid)
    default: proof.mlDsa65Signature = people.signOtherHalf(other.response.signingInput, with: guarded.hybrid)
    }
    people.submit(.key(proof), to: prompt)
  }

  // MARK: Passkeys

  /// A copy counts on by itself, from where the passkey was when it was read out.
  func useClone() {
    if clones.isEmpty || chance.happens(30), var stolen = chance.pickAny(people.wallet.passkeys) {
      stolen.authenticator = stolen.authenticator?.clone()
      clones = (clones + [stolen]).suffix(4)
    }
    if let clone = chance.pickAny(clones) { people.begin(byPasskey: clone) }
  }

  /// A passkey of one profile, for another profile's evaluation.
  func useAnothersPasskey() {
    guard let prompt = somePrompt, let credential = chance.pickAny(people.wallet.passkeys),
      let authenticator = credential.authenticator,
      let attempt = people.assertion(of: authenticator, over: prompt.response.signingInput)
    else { return }
    people.submit(attempt, to: prompt)
  }

  private static let lookalike = SimulatedAuthenticator.Page(
    origin: "https://cafe.example.org", rpID: People.page.rpID)

  /// A page that looks like the application's, or an assertion for another evaluation.
  func phish() {
    guard let prompt = chance.pickAny(people.wallet.prompts.filter { $0.credential.authenticator != nil }),
      let authenticator = prompt.credential.authenticator, let other = somePrompt
    else { return }
    let attempt =
      chance.happens(50)
      ? people.assertion(of: authenticator, over: prompt.response.signingInput, on: Self.lookalike)
      : people.assertion(of: authenticator, over: other.response.signingInput)
    if let attempt { people.submit(attempt, to: prompt) }
  }

  /// A registration for one ticket is sent with another.
  func registerAgain() {
    let enrolments = people.wallet.enrolments.filter(\.isForPasskey)
    guard let made = chance.pickAny(enrolments), let enrolment = chance.pickAny(enrolments) else { return }
    world.send(people.completion(of: enrolment, by: people.register(for: made).1))
  }

  // MARK: Apps

  /// A key of the attacker's own, and an attestation that does not vouch for it: by a forger, of another app, for
  /// another ticket, for another key, for another posture; or one that was seen on the line.
  func forgeVouching() {
    let enrolments = people.wallet.enrolments.filter { !$0.isForPasskey }
    guard let enrolment = chance.pickAny(enrolments), let other = chance.pickAny(enrolments) else { return }
    let credential = Credential(
      applicationID: enrolment.request.applicationID, profileID: "", bindingID: "",
      keys: [GuardedKey(key: someKey, protection: .biometryCurrentSet)])
    var request = people.completion(of: enrolment, by: credential, replaceExisting: true)
    let kind = chance.below(6)
    var (told, input) = (request, enrolment.response.signingInput)
    switch kind {
    case 2: input = other.response.signingInput
    case 3: told.keys[0].publicKey = people.keys.take().publicKey
    case 4: told.posture?.domainState = [1, 2, 3]
    default: break
    }
    let app = VouchingApp(
      appID: kind == 1 ? "A1B2C3D4E5.org.example.other" : Names.appID,
      authority: kind == 0 ? World.appleForger : World.apple, seed: chance.next())
    let data = BindingClientData(told, signingInput: input).bytes
    request.appAttest = V1.AppAttest(
      keyID: app.keyID, attestation: kind < 2 ? unnoted(app, data) : people.attestation(of: app, over: data))
    if kind == 5, let seen = chance.pickAny(people.wallet.vouchings) { request.appAttest = seen }
    world.send(request)
  }

  /// The ledger has no word of it: a service must not believe it.
  private func unnoted(_ app: VouchingApp, _ clientData: [UInt8]) -> [UInt8] {
    app.service.attestKey(app.keyID, clientDataHash: sha256(clientData)) ?? []
  }

  /// An assertion beside another attempt, or another posture, than it is for.
  func moveVouching() {
    guard let prompt = chance.pickAny(people.wallet.prompts.filter { $0.credential.app != nil }),
      let attempt = people.proof(for: prompt)
    else { return }
    var request = people.attemptRequest(attempt, to: prompt)
    if chance.happens(50), let seen = chance.pickAny(people.wallet.heldBack) {
      request.appAssertion = seen.appAssertion
    } else {
      request.posture?.osVersion = "18.1"
    }
    world.send(request)
  }

  /// Sends a kept attempt late: later assertions may have been taken meanwhile.
  func sendHeldBack() {
    if let attempt = chance.pickAny(people.wallet.heldBack) { people.send(attempt) }
  }
}
