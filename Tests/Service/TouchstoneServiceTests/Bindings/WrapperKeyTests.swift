import Crypto
import DispatchRPC
import Encodings
import SimulatedPhone
import StoreModel
import TestSupport
import Testing
import TouchstoneAttestation
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// The keys and signatures that wrappers of frameworks make: RSA (R31), and the text of a signing input (R33).
struct WrapperKeyTests {
  private typealias OpenSSLKey = TestSupport.TestKey

  private static let rsa = OpenSSLKey.make(.rsa2048)
  private static let otherRSA = OpenSSLKey(.rsa2048)

  private static func text(_ input: [UInt8]) -> [UInt8] { Array(Base64URL.encode(input).utf8) }

  private static func start(allowingText: Bool = true, _ policies: [EvaluationPolicy] = []) async throws -> TestService
  {
    try await TestService.start { configuration in
      configuration.applications[TestService.applicationID] = AttestationRequirements()
      configuration.applications[TestService.applicationID]?.allowsTextSignatures = allowingText
      configuration.policies += policies
    }
  }

  private static func key(
    _ input: [UInt8], by key: OpenSSLKey = rsa, _ protection: V1.KeyProtection = .biometryCurrentSet
  ) -> V1.HardwareKey {
    V1.HardwareKey(publicKey: key.subjectPublicKeyInfo, protection: protection, signature: key.sign(input))
  }

  /// Binds a phone with these keys, made from the ticket's signing input.
  private static func bind(
    _ service: TestService, _ phone: TestPhone = TestPhone(), _ keys: ([UInt8]) -> [V1.HardwareKey] = { [key($0)] }
  ) async throws -> (phone: TestPhone, binding: V1.Binding) {
    var phone = phone
    let begun = try await service.beginBinding(phone)
    let binding = try await service.completeBinding(phone, begun, keys: keys(begun.signingInput))
    phone.bindingID = binding.bindingID
    return (phone, binding)
  }

  private static func outcome(
    _ service: TestService, _ phone: TestPhone, policy: String = "login", factor: V1.Factor = .biometry,
    form: V1.SignatureForm = .unspecified, _ signature: ([UInt8]) -> [UInt8]
  ) async throws -> V1.Outcome {
    let opened = try await service.begin(phone, policy: policy)
    let proof = V1.KeyProof(signature: signature(opened.signingInput), factor: factor, signatureForm: form)
    return try await service.submit(phone, opened, .key(proof)).outcome
  }

  // MARK: RSA

  @Test func anRSAKeyLogsInAndPays() async throws {
    let service = try await Self.start()
    let (phone, binding) = try await Self.bind(service)
    #expect(binding.keyAlgorithms == [.rsa])
    #expect(binding.protections == [.biometryCurrentSet])
    #expect(try await Self.outcome(service, phone, Self.rsa.sign) == .succeeded)
    let opened = try await service.begin(phone, policy: "payment", transaction: .dinner)
    let proof = V1.KeyProof(signature: Self.rsa.sign(opened.signingInput), factor: .biometry)
    #expect(try await service.submit(phone, opened, .key(proof)).outcome == .succeeded)
  }

  /// Signatures of the other kind of key, too: the kind of the bound key alone decides.
  @Test func aWrongSignatureCounts() async throws {
    let service = try await Self.start()
    let (phone, _) = try await Self.bind(service)
    #expect(try await Self.outcome(service, phone, Self.otherRSA.sign) == .tryAgain)
    #expect(try await Self.outcome(service, phone) { Self.rsa.sign($0 + [0]) } == .tryAgain)
    #expect(try await Self.outcome(service, phone, phone.biometryKey.sign) == .tryAgain)
    #expect(try await Self.outcome(service, phone) { [0] + Self.rsa.sign($0) } == .tryAgain)
    #expect(service.store.records.device(phone.deviceID).biometry.consecutiveFailures == 4)
    #expect(try await Self.outcome(service, phone, Self.rsa.sign) == .succeeded)
    let onP256 = try await service.bind(
      TestPhone(deviceID: "phone-2-8c1e07d2a94b5f", profileID: "bob"))
    #expect(try await Self.outcome(service, onP256, Self.rsa.sign) == .tryAgain)
  }

  @Test func anRSAKeyServesNoPolicyForP256() async throws {
    var policy = EvaluationPolicy(
      name: "strict", purpose: .login, factors: [.biometry, .deviceOwner], tokenLifetime: .seconds(60))
    policy.requiresP256Keys = true
    let service = try await Self.start([policy])
    let (phone, _) = try await Self.bind(service)
    #expect(try await service.begin(phone, policy: "strict").denial?.reason == "NO_USABLE_FACTOR")

    // Its other key is on P-256.
    let owner = SoftwareKey()
    let mixed = TestPhone(deviceID: "phone-3-2b7d90c4e8f61a", profileID: "carol", deviceOwnerKey: owner)
    let (bound, binding) = try await Self.bind(service, mixed) {
      [
        Self.key($0),
        V1.HardwareKey(publicKey: owner.publicKeyX963, protection: .devicePasscode, signature: owner.sign($0)),
      ]
    }
    #expect(binding.keyAlgorithms == [.rsa, .p256])
    let opened = try await service.begin(bound, policy: "strict")
    #expect(opened.factors == [.deviceOwner])
    let right = V1.KeyProof(signature: Self.rsa.sign(opened.signingInput), factor: .biometry)
    let answer = try await service.submit(bound, opened, .key(right))
    #expect(answer.outcome == .factorRequired)
    #expect(answer.nextFactors == [.deviceOwner])
    #expect(service.store.records.device(bound.deviceID).biometry.consecutiveFailures == 0)
    #expect(try await service.submit(bound, opened, bound.proof(for: opened, by: .deviceOwner)).outcome == .succeeded)
  }

  private struct Spoiled: Sendable {
    let field: String
    let keys: @Sendable ([UInt8]) throws -> [V1.HardwareKey]

    init(_ field: String, _ keys: @escaping @Sendable ([UInt8]) throws -> [V1.HardwareKey]) {
      (self.field, self.keys) = (field, keys)
    }

    static func one(_ field: String, _ spoil: @escaping @Sendable (inout V1.HardwareKey) -> Void) -> Spoiled {
      Spoiled(field) { input in
        var key = WrapperKeyTests.key(input)
        spoil(&key)
        return [key]
      }
    }
  }

  private static let spoiled = [
    Spoiled.one("keys[0].signature") { $0.signature.removeLast() },
    .one("keys[0].signature") { $0.signature[0] ^= 1 },
    .one("keys[0].signature") { $0.signature = SoftwareKey().sign([]) },
    .one("keys[0].public_key") { $0.publicKey.removeLast() },
    .one("keys[0].public_key") { $0.publicKey.append(0) },
    // As PKCS #1 encodes it.
    .one("keys[0].public_key") { $0.publicKey.removeFirst(24) },
    .one("keys[0].public_key") { $0.publicKey = OpenSSLKey.make(.rsa1024).subjectPublicKeyInfo },
    .one("keys[0].signature_form") { $0.signatureForm = V1.SignatureForm(rawValue: 7) },
    Spoiled("keys[1].public_key") { [key($0), key($0, .userPresence)] },
    Spoiled("keys[1].protection") { [key($0), key($0, by: otherRSA, .biometryAny)] },
    Spoiled("keys[1].protection") { input in
      [key(input)] + TestPhone().keys(signing: input)
    },
    Spoiled("keys[0].ml_dsa_65_public_key") { input in
      let half = try MLDSA65.PrivateKey()
      var hybrid = key(input)
      hybrid.mlDsa65PublicKey = Array(half.publicKey.rawRepresentation)
      hybrid.mlDsa65Signature = Array(try half.signature(for: input))
      return [hybrid]
    },
    // No way around the hybrid key of the other factor (R48).
    Spoiled("keys") { input in
      let half = try MLDSA65.PrivateKey()
      var hybrid = TestPhone().keys(signing: input)[0]
      hybrid.mlDsa65PublicKey = Array(half.publicKey.rawRepresentation)
      hybrid.mlDsa65Signature = Array(try half.signature(for: input))
      return [hybrid, key(input, .userPresence)]
    },
  ]

  @Test(arguments: spoiled.indices) func aWrongKeyIsNamedAndNothingIsBound(_ index: Int) async throws {
    let service = try await Self.start()
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    let keys = try Self.spoiled[index].keys(begun.signingInput)
    let error = await refusal { try await service.completeBinding(phone, begun, keys: keys) }
    #expect(error.code == .invalidArgument)
    #expect(error.fields == [Self.spoiled[index].field], "\(error.message)")
    // The ticket serves again.
    let binding = try await service.completeBinding(phone, begun, keys: [Self.key(begun.signingInput)])
    #expect(binding.keyAlgorithms == [.rsa])
  }

  /// A stored key that is damaged verifies nothing, and traps nowhere.
  @Test func aDamagedRSAKeyVerifiesNothing() async throws {
    let service = try await Self.start()
    let (phone, _) = try await Self.bind(service)
    var record = try #require(service.store.records.binding(phone.bindingID))
    record.credential = .hardwareKeys([
      HardwareKeyRecord(.rsa, publicKey: phone.biometryKey.publicKeyX963, protection: .biometryCurrentSet)
    ])
    try service.store.change(.putBinding(record))
    #expect(try await Self.outcome(service, phone, Self.rsa.sign) == .tryAgain)
    #expect(try await Self.outcome(service, phone, phone.biometryKey.sign) == .tryAgain)
  }

  // MARK: Text

  /// Each form is verified as what it is named, by keys of both kinds.
  @Test(arguments: [true, false]) func aFormIsNeverTakenForTheOther(_ isRSA: Bool) async throws {
    let service = try await Self.start()
    let software = SoftwareKey()
    let sign: @Sendable ([UInt8]) -> [UInt8] = { isRSA ? Self.rsa.sign($0) : software.sign($0) }
    let (phone, _) = try await Self.bind(service) { input in
      [
        V1.HardwareKey(
          publicKey: isRSA ? Self.rsa.subjectPublicKeyInfo : software.publicKeyX963, protection: .biometryAny,
          signature: sign(Self.text(input)), signatureForm: .base64URLText)
      ]
    }
    let created = try #require(service.events.last)
    #expect(created.kind == "binding.created")
    #expect(created.details.contains(EventDetail(key: "signature_form", value: "base64url_text")))

    for form in [V1.SignatureForm.unspecified, .raw] {
      #expect(try await Self.outcome(service, phone, form: form) { sign(Self.text($0)) } == .tryAgain)
      #expect(service.events.last?.details.contains { $0.key == "signature_form" } == false)
      #expect(try await Self.outcome(service, phone, form: form, sign) == .succeeded)
    }
    #expect(try await Self.outcome(service, phone, form: .base64URLText, sign) == .tryAgain)
    #expect(
      service.events.last?.details.contains(EventDetail(key: "signature_form", value: "base64url_text")) == true)
    let padded = { (input: [UInt8]) in sign(Self.text(input) + Array("==".utf8)) }
    #expect(try await Self.outcome(service, phone, form: .base64URLText, padded) == .tryAgain)
    #expect(try await Self.outcome(service, phone, form: .base64URLText) { sign(Self.text($0)) } == .succeeded)
    let succeeded = try #require(service.events.last)
    #expect(succeeded.kind == "evaluation.succeeded")
    #expect(succeeded.details.contains(EventDetail(key: "signature_form", value: "base64url_text")))
  }

  @Test func textIsRefusedUnlessTheApplicationAllowsIt() async throws {
    let service = try await Self.start(allowingText: false)
    let phone = TestPhone()
    let begun = try await service.beginBinding(phone)
    var key = phone.keys(signing: Self.text(begun.signingInput))[0]
    key.signatureForm = .base64URLText
    let atBinding = await refusal { [key] in try await service.completeBinding(phone, begun, keys: [key]) }
    #expect(atBinding.code == .invalidArgument)
    #expect(atBinding.fields == ["keys[0].signature_form"])
    #expect(atBinding.message.contains("text_signatures"))

    let bound = try await service.bind(phone)
    let opened = try await service.begin(bound)
    for form in [V1.SignatureForm.base64URLText, V1.SignatureForm(rawValue: 7)] {
      let proof = V1.KeyProof(
        signature: phone.biometryKey.sign(Self.text(opened.signingInput)), factor: .biometry, signatureForm: form)
      let error = await refusal { try await service.submit(bound, opened, .key(proof)) }
      #expect(error.code == .invalidArgument)
      #expect(error.fields == ["key.signature_form"])
    }
    // Nothing was counted, and the evaluation is open.
    #expect(try await service.submit(bound, opened).outcome == .succeeded)
  }

  /// Another application's setting does not count, nor does one whose id another spelling finds.
  @Test func theSettingIsTheApplicationsOwn() async throws {
    let service = try await TestService.start { configuration in
      configuration.applications["another"] = AttestationRequirements()
      configuration.applications["another"]?.allowsTextSignatures = true
    }
    let bound = try await service.bind()
    let error = await refusal {
      try await Self.outcome(service, bound, form: .base64URLText) { bound.biometryKey.sign(Self.text($0)) }
    }
    #expect(error.fields == ["key.signature_form"])
  }
}
