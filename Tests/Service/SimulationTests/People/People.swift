// People with phones, and the applications that ask for them: what they do is what they may.

import SimulatedPhone
import TouchstoneCodec
import TouchstonePolicy

final class People {
  let phones = Names.devices.map(Phone.init)
  var keys: KeyPool
  var wallet = Wallet()
  var memories: [[UInt8]: Memory] = [:]
  unowned let world: World
  var chance: Chance { world.chance }

  init(world: World) {
    self.world = world
    keys = KeyPool(by: world.chance)
    for name in Names.all { world.ledger.note(name: name) }
  }

  // MARK: Doing

  func act() {
    let phone = chance.pick(phones)
    let applicationID = chance.pick(Names.applications)
    let profileID = chance.pick(Names.profiles)
    switch chance.below(100) {
    case 0..<7: beginBinding(phone, applicationID, profileID)
    case 7..<9: beginPasskey(beside: phone, profileID)
    case 9..<18: completeBinding()
    case 18..<30: begin(phone, applicationID)
    case 30..<34: beginByPasskey()
    case 34..<40: begin(phone, applicationID, profileID)
    case 40..<54: prove()
    case 54..<64: enterSecret()
    case 64..<66: proveByLogin()
    case 66..<69: reportError()
    case 69..<70: invalidate()
    case 70..<74: consume()
    case 74..<77: introspect()
    case 77..<78: revokeToken()
    case 78..<87: setUp(applicationID, profileID)
    case 87..<94: support(phone, applicationID, profileID)
    default: change(phone)
    }
  }

  // MARK: Before the storm

  /// Some phones are bound, and some profiles have secrets.
  func settleIn() {
    for phone in phones where chance.happens(70) {
      let applicationID = chance.pick(Names.applications)
      let profileID = chance.pick(Names.profiles)
      let request = bindingRequest(phone, applicationID, profileID, primary(ageSeconds: 1))
      guard let response = world.ask(request) else { continue }
      complete(Enrolment(phone: phone, request: request, response: response))
      if chance.happens(70) { setSecret(applicationID, profileID) }
    }
  }

  // MARK: Binding

  func primary(ageSeconds: Int) -> V1.PrimaryAuthentication {
    let time = world.time.now + .seconds(-ageSeconds)
    return V1.PrimaryAuthentication(method: "password", authenticatedAt: V1.Timestamp(time))
  }

  func somePrimary() -> V1.PrimaryAuthentication { primary(ageSeconds: chance.pick([1, 1, 60, 290, 310])) }

  func beginBinding(_ phone: Phone, _ applicationID: String, _ profileID: String) {
    let request = bindingRequest(phone, applicationID, profileID, somePrimary())
    world.send(request) { [self] response in
      guard response.denial == nil else { return }
      let enrolment = Enrolment(phone: phone, request: request, response: response)
      wallet.keep(enrolment)
      if chance.happens(60) { complete(enrolment) }
    }
  }

  func bindingRequest(
    _ phone: Phone, _ applicationID: String, _ profileID: String, _ primary: V1.PrimaryAuthentication
  ) -> V1.BeginBindingRequest {
    V1.BeginBindingRequest(
      applicationID: applicationID, profileID: profileID, deviceID: phone.deviceID, primary: primary,
      posture: phone.posture(in: applicationID))
  }

  func completeBinding() { if let enrolment = chance.pickAny(wallet.enrolments) { complete(enrolment) } }

  func complete(_ enrolment: Enrolment) {
    if enrolment.isForPasskey { return completePasskey(enrolment) }
    var credential = Credential(
      applicationID: enrolment.request.applicationID, profileID: enrolment.request.profileID, bindingID: "")
    let isVouched = isVouchedNext(in: credential.applicationID)
    if !isVouched, chance.happens(30) {
      credential.profileTouchID = chance.bytes(32)
    } else {
      credential.keys = makeKeys()
    }
    var request = completion(of: enrolment, by: credential, replaceExisting: chance.happens(60))
    if isVouched { vouch(for: &request, of: enrolment, by: &credential) }
    world.send(request) { response in
      credential.bindingID = response.binding?.bindingID ?? ""
      enrolment.phone.keep(credential)
    }
  }

  func completion(
    of enrolment: Enrolment, by credential: Credential, replaceExisting: Bool
  ) -> V1.CompleteBindingRequest {
    let form = form(in: credential.applicationID)
    let keys = credential.keys.map { guarded in
      V1.HardwareKey(
        publicKey: guarded.key.publicKey, protection: guarded.protection,
        signature: sign(enrolment.response.signingInput, with: guarded.key, form),
        mlDsa65PublicKey: guarded.hybrid?.mlDSA65PublicKey ?? [],
        mlDsa65Signature: signOtherHalf(enrolment.response.signingInput, with: guarded.hybrid, form),
        signatureForm: form)
    }
    return V1.CompleteBindingRequest(
      applicationID: credential.applicationID, ticket: enrolment.response.ticket, deviceName: "a phone", keys: keys,
      profileTouchID: keys.isEmpty ? V1.ProfileTouchID(value: credential.profileTouchID) : nil,
      posture: enrolment.phone.posture(in: credential.applicationID), replaceExisting: replaceExisting)
  }

  /// The text now and then, where it is taken.
  func form(in applicationID: String) -> V1.SignatureForm {
    guard Identifier.areEqual(applicationID, Names.provenApplication) else { return .raw }
    return chance.happens(30) ? .base64URLText : .raw
  }

  /// Hybrid ones now and then: both, or neither.
  func makeKeys() -> [GuardedKey] {
    let isHybrid = chance.happens(15)
    var made = [makeKey(chance.happens(70) ? .biometryCurrentSet : .biometryAny, isHybrid)]
    if chance.happens(50) { made.append(makeKey(chance.happens(50) ? .userPresence : .devicePasscode, isHybrid)) }
    return made
  }

  private func makeKey(_ protection: V1.KeyProtection, _ isHybrid: Bool) -> GuardedKey {
    guard isHybrid else {
      return GuardedKey(key: chance.happens(20) ? keys.takeRSA() : keys.take(), protection: protection)
    }
    let hybrid = keys.takeHybrid()
    return GuardedKey(key: .p256(hybrid.p256), protection: protection, hybrid: hybrid)
  }

  /// Empty where the key is not hybrid.
  func signOtherHalf(_ input: [UInt8], with hybrid: HybridKey?, _ form: V1.SignatureForm = .raw) -> [UInt8] {
    guard let hybrid else { return [] }
    let signed = form.bytes(of: input)
    let signature = hybrid.signByMLDSA65(signed)
    world.ledger.note(signature: signature, by: hybrid.mlDSA65PublicKey, over: signed)
    return signature
  }

  /// With the person's consent to this very input.
  func sign(_ input: [UInt8], with key: PhonesKey, _ form: V1.SignatureForm = .raw) -> [UInt8] {
    let signed = form.bytes(of: input)
    let signature = key.sign(signed)
    world.ledger.note(signature: signature, by: key.publicKey, over: signed)
    return signature
  }

  // MARK: The phone

  /// Mostly back to how it should be.
  func change(_ phone: Phone) {
    switch chance.below(10) {
    case 0: phone.fingers = [1, 2]
    case 1: phone.fingers = []
    case 2: phone.isPasscodeSet = false
    case 3: phone.isSensorBroken = true
    case 4: phone.isLockedOut = true
    case 5: phone.osMajorVersion = chance.pick([8, 10, 17, 18])
    default: phone.recover()
    }
    world.trace.note("\(world.time.step) \(phone.deviceID): fingers \(phone.fingers), iOS \(phone.osMajorVersion)")
  }
}
