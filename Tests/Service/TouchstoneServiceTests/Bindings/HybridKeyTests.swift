import Crypto
import DispatchRPC
import SimulatedPhone
import StoreModel
import Testing
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

/// R48: a key that signs by P-256 and by ML-DSA-65.
struct HybridKeyTests {
  /// A phone's other half for each of its keys.
  private struct OtherHalves {
    let biometry: MLDSA65.PrivateKey
    let deviceOwner: MLDSA65.PrivateKey

    init() throws { (biometry, deviceOwner) = (try MLDSA65.PrivateKey(), try MLDSA65.PrivateKey()) }

    func keys(of phone: TestPhone, signing input: [UInt8]) throws -> [V1.HardwareKey] {
      try zip(phone.keys(signing: input), [biometry, deviceOwner]).map { key, otherHalf in
        var hybrid = key
        hybrid.mlDsa65PublicKey = Array(otherHalf.publicKey.rawRepresentation)
        hybrid.mlDsa65Signature = Array(try otherHalf.signature(for: input))
        return hybrid
      }
    }
  }

  private func start() async throws -> (service: TestService, phone: TestPhone, halves: OtherHalves) {
    let (service, halves) = (try await TestService.start(), try OtherHalves())
    var phone = TestPhone(deviceOwnerKey: SoftwareKey())
    let begun = try await service.beginBinding(phone)
    let binding = try await service.completeBinding(
      phone, begun, keys: halves.keys(of: phone, signing: begun.signingInput))
    phone.bindingID = binding.bindingID
    #expect(binding.keyAlgorithms == [.p256MlDsa65, .p256MlDsa65])
    return (service, phone, halves)
  }

  /// A biometric attempt whose half on P-256 is right.
  private func attempt(
    _ service: TestService, _ phone: TestPhone, otherHalf: ([UInt8]) throws -> [UInt8]
  ) async throws -> V1.Outcome {
    let opened = try await service.begin(phone)
    let proof = V1.KeyProof(
      signature: phone.biometryKey.sign(opened.signingInput), factor: .biometry,
      mlDsa65Signature: try otherHalf(opened.signingInput))
    return try await service.submit(phone, opened, .key(proof)).outcome
  }

  @Test func bothHalvesLogIn() async throws {
    let (service, phone, halves) = try await start()
    let outcome = try await attempt(service, phone) { Array(try halves.biometry.signature(for: $0)) }
    #expect(outcome == .succeeded)
  }

  @Test func oneHalfIsAWrongAttempt() async throws {
    let (service, phone, halves) = try await start()
    #expect(try await attempt(service, phone) { _ in [] } == .tryAgain)
    let byAnotherKey = try await attempt(service, phone) { Array(try halves.deviceOwner.signature(for: $0)) }
    #expect(byAnotherKey == .tryAgain)
    let ofAnotherInput = try await attempt(service, phone) { Array(try halves.biometry.signature(for: $0 + [0])) }
    #expect(ofAnotherInput == .tryAgain)
    #expect(service.store.records.device(phone.deviceID).biometry.consecutiveFailures == 3)
  }

  @Test func theHalfOnP256MustBeRight() async throws {
    let (service, phone, halves) = try await start()
    let opened = try await service.begin(phone)
    let proof = V1.KeyProof(
      signature: SoftwareKey().sign(opened.signingInput), factor: .biometry,
      mlDsa65Signature: Array(try halves.biometry.signature(for: opened.signingInput)))
    #expect(try await service.submit(phone, opened, .key(proof)).outcome == .tryAgain)
  }

  @Test func aKeyThatIsNotHybridHasNoOtherHalf() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    let stranger = try MLDSA65.PrivateKey()
    #expect(try await attempt(service, phone) { Array(try stranger.signature(for: $0)) } == .tryAgain)
    #expect(try await attempt(service, phone) { _ in [] } == .succeeded)
  }

  @Test func aDamagedOtherHalfIsDataLossAndNoTrap() async throws {
    let (service, phone, halves) = try await start()
    var record = try #require(service.store.records.binding(phone.bindingID))
    record.credential = .hardwareKeys([
      HardwareKeyRecord(
        publicKey: phone.biometryKey.publicKeyX963, mlDSA65PublicKey: [1, 2, 3], protection: .biometryCurrentSet)
    ])
    try service.store.change(.putBinding(record))
    let error = await refusal {
      try await attempt(service, phone) { Array(try halves.biometry.signature(for: $0)) }
    }
    #expect(error.code == .dataLoss)
  }

  // MARK: Binding

  private struct Spoiled: Sendable {
    let field: String
    let spoil: @Sendable (inout [V1.HardwareKey]) -> Void

    init(_ field: String, _ spoil: @escaping @Sendable (inout [V1.HardwareKey]) -> Void) {
      (self.field, self.spoil) = (field, spoil)
    }
  }

  private static let spoiled = [
    Spoiled("keys[0].ml_dsa_65_signature") { $0[0].mlDsa65Signature = $0[1].mlDsa65Signature },
    Spoiled("keys[0].ml_dsa_65_signature") { $0[0].mlDsa65Signature = [] },
    Spoiled("keys[1].ml_dsa_65_signature") { $0[1].mlDsa65Signature.removeLast() },
    Spoiled("keys[0].ml_dsa_65_public_key") { $0[0].mlDsa65PublicKey = [] },
    Spoiled("keys[0].ml_dsa_65_public_key") { $0[0].mlDsa65PublicKey.append(0) },
    Spoiled("keys[1].ml_dsa_65_public_key") { $0[1].mlDsa65PublicKey = $0[0].mlDsa65PublicKey },
    Spoiled("keys") { ($0[1].mlDsa65PublicKey, $0[1].mlDsa65Signature) = ([], []) },
  ]

  @Test(arguments: spoiled.indices)
  func aHalfThatIsWrongIsNamedAndNothingIsBound(_ index: Int) async throws {
    let (field, spoil) = (Self.spoiled[index].field, Self.spoiled[index].spoil)
    let (service, halves) = (try await TestService.start(), try OtherHalves())
    let phone = TestPhone(deviceOwnerKey: SoftwareKey())
    let begun = try await service.beginBinding(phone)
    let right = try halves.keys(of: phone, signing: begun.signingInput)
    var keys = right
    spoil(&keys)
    let error = await refusal { [keys] in try await service.completeBinding(phone, begun, keys: keys) }
    #expect(error.code == .invalidArgument)
    #expect(error.fields.contains(field))
    // The ticket serves again.
    #expect(try await service.completeBinding(phone, begun, keys: right).keyAlgorithms.count == 2)
  }
}
