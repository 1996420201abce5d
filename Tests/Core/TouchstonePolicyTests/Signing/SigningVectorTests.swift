// The vectors that docs/SIGNING.md offers to apps (R28, R33, R38).

import Foundation
import Testing
import TouchstonePolicy

/// Tests/Vectors/signing.json.
private struct SigningVectors: Decodable {
  var bindings: [Binding]
  var evaluations: [Evaluation]
  var appAttestBindings: [AppAttestBinding]
  var appAttestAttempts: [AppAttestAttempt]

  struct Posture: Decodable {
    var platform: String
    var osVersion: String
    var deviceModel: String
    var biometryType: UInt8
    var biometryAvailable: Bool
    var biometryEnrolled: Bool
    var biometryLockedOut: Bool
    var passcodeSet: Bool
    var domainState: String
    var canonicalBytes: String
  }

  struct Key: Decodable {
    var publicKey: String
    var mlDsa65PublicKey: String?
    var protection: UInt8
  }

  struct AppAttestBinding: Decodable {
    var signingInput: String
    var posture: Posture
    var keys: [Key]
    var clientData: String
  }

  struct AppAttestAttempt: Decodable {
    var signingInput: String
    var signature: String
    var mlDsa65Signature: String?
    var posture: Posture
    var clientData: String
  }

  struct Binding: Decodable {
    var challenge: String
    var applicationId: String
    var profileId: String
    var deviceId: String
    var signingInput: String
  }

  struct Evaluation: Decodable {
    var challenge: String
    var applicationId: String
    var bindingId: String
    var policy: String
    var purpose: String
    var transaction: Payment?
    var signingInput: String
  }

  struct Payment: Decodable {
    var amount: String
    var currency: String
    var payee: String
    var reference: String
    var canonicalBytes: String
  }

  static func load() throws -> SigningVectors {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    return try decoder.decode(
      SigningVectors.self, from: Data(contentsOf: tests.appending(path: "Vectors/signing.json")))
  }
}

@Suite struct SigningVectorTests {
  private static func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = Array(hexadecimal)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<($0 + 2)]), radix: 16) }
  }

  @Test("R28: the bindings' vectors")
  func bindings() throws {
    let vectors = try SigningVectors.load().bindings
    #expect(vectors.count == 3)
    for vector in vectors {
      let terms = BindingTerms(
        challenge: Self.bytes(vector.challenge), applicationID: vector.applicationId, profileID: vector.profileId,
        deviceID: vector.deviceId)
      #expect(terms.signingInput == Self.bytes(vector.signingInput))
    }
  }

  @Test("R33, R38: the evaluations' vectors, and their transactions'")
  func evaluations() throws {
    let vectors = try SigningVectors.load().evaluations
    #expect(vectors.count == 5)
    for vector in vectors {
      let transaction = vector.transaction.map { payment in
        Transaction(
          amount: payment.amount, currency: payment.currency, payee: payment.payee, reference: payment.reference)
      }
      #expect(transaction?.canonicalBytes == vector.transaction.map { Self.bytes($0.canonicalBytes) })
      let terms = EvaluationTerms(
        challenge: Self.bytes(vector.challenge), applicationID: vector.applicationId, bindingID: vector.bindingId,
        policyName: vector.policy, purpose: vector.purpose == "payment" ? .payment : .login, transaction: transaction)
      #expect(terms.signingInput == Self.bytes(vector.signingInput))
    }
  }

  @Test("R43: what an app vouches for when its device is bound, and in an attempt")
  func appAttest() throws {
    let vectors = try SigningVectors.load()
    #expect((vectors.appAttestBindings.count, vectors.appAttestAttempts.count) == (2, 2))
    for vector in vectors.appAttestBindings {
      let keys = try vector.keys.map {
        BindingClientData.Key(
          publicKey: Self.bytes($0.publicKey), mlDSA65PublicKey: Self.bytes($0.mlDsa65PublicKey ?? ""),
          protection: try #require(KeyProtection(rawValue: $0.protection)))
      }
      let data = BindingClientData(
        signingInput: Self.bytes(vector.signingInput), posture: Self.terms(vector.posture), keys: keys)
      #expect(data.posture.canonicalBytes == Self.bytes(vector.posture.canonicalBytes))
      #expect(data.bytes == Self.bytes(vector.clientData))
    }
    for vector in vectors.appAttestAttempts {
      let data = AttemptClientData(
        signingInput: Self.bytes(vector.signingInput), signature: Self.bytes(vector.signature),
        mlDSA65Signature: Self.bytes(vector.mlDsa65Signature ?? ""), posture: Self.terms(vector.posture))
      #expect(data.bytes == Self.bytes(vector.clientData))
    }
  }

  private static func terms(_ posture: SigningVectors.Posture) -> PostureTerms {
    PostureTerms(
      platform: posture.platform, osVersion: posture.osVersion, deviceModel: posture.deviceModel,
      biometryType: posture.biometryType, isBiometryAvailable: posture.biometryAvailable,
      isBiometryEnrolled: posture.biometryEnrolled, isBiometryLockedOut: posture.biometryLockedOut,
      isPasscodeSet: posture.passcodeSet, domainState: bytes(posture.domainState))
  }
}
