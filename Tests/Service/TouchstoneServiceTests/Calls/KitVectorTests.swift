// The groups of the phone kits' vectors (Tests/Vectors/kit) that reach the service: what it gives phones to sign, and
// the keys and signatures that it takes. Every kit decides the same cases.

import Encodings
import Foundation
import SimulatedPhone
import StoreConformance
import Testing
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

private struct Vectors<Case: Decodable>: Decodable {
  var cases: [Case]

  static func load(_ name: String) throws -> [Case] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    let file = try Data(contentsOf: tests.appending(path: "Vectors/kit/\(name).json"))
    let cases = try decoder.decode(Self.self, from: file).cases
    #expect(cases.count > 50)
    return cases
  }
}

private struct Payment: Decodable {
  var amount: String
  var currency: String
  var payee: String
  var reference: String

  var transaction: Transaction {
    Transaction(amount: amount, currency: currency, payee: payee, reference: reference)
  }
}

private struct SigningInputCase: Decodable {
  var name: String
  var kind: String
  var applicationId: String
  var profileId: String?
  var deviceId: String?
  var bindingId: String?
  var policy: String?
  var challenge: String?
  var shown: Payment?
  var signingInput: String
  var expect: Expected?
  var refused: String?

  struct Expected: Decodable {
    var challenge: String
    var policy: String?
    var purpose: String?
    var transactionSha256: String?
  }

  /// What the service writes for this app, by the policy that the app asked for.
  func written(_ challenge: [UInt8]) -> [UInt8] {
    guard kind == "evaluation" else {
      return BindingTerms(
        challenge: challenge, applicationID: applicationId, profileID: profileId ?? "", deviceID: deviceId ?? ""
      ).signingInput
    }
    return EvaluationTerms(
      challenge: challenge, applicationID: applicationId, bindingID: bindingId ?? "", policyName: policy ?? "",
      purpose: shown == nil ? .login : .payment, transaction: shown?.transaction
    ).signingInput
  }
}

private struct KeyCase: Decodable {
  var name: String
  var key: String
  var expect: Expected?
  var refused: String?

  struct Expected: Decodable {
    var algorithm: String
    var form: String
    var x963: String?
    var spki: String?
  }
}

private struct SignatureCase: Decodable {
  var name: String
  var algorithm: String
  var key: String
  var form: String
  var signingInput: String
  var signature: String
  var refused: String?
}

private struct ErrorCase: Decodable {
  var platform: String
  var code: Int?
  var expect: Expected

  struct Expected: Decodable {
    var send: Int?
  }
}

private struct LanguageCase: Decodable {
  var languages: String
  var expect: Expected

  struct Expected: Decodable {
    var language: String
  }
}

@Suite struct KitVectorTests {
  private static func bytes(_ text: String, _ name: String) throws -> [UInt8] {
    try #require(Base64URL.decode(text), "\(name)")
  }

  /// The second field, where there is a whole one of 32 bytes.
  private static func challenge(in input: [UInt8]) -> [UInt8] {
    func field(at start: Int) -> ArraySlice<UInt8>? {
      guard input.count >= start + 4 else { return nil }
      let length = input[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
      return input.count - start - 4 >= length ? input[start + 4..<start + 4 + length] : nil
    }
    guard let tag = field(at: 0), let challenge = field(at: tag.endIndex), challenge.count == 32 else {
      return [UInt8](repeating: 0, count: 32)
    }
    return Array(challenge)
  }

  /// Codes of a kit's refusals for texts that the service does not take in the first place.
  private static let ofTransactions: Set = [
    "wrong-amount", "wrong-currency", "wrong-length", "text-reorders", "text-hidden",
  ]

  @Test("R28, R33: the service writes what kits take, and nothing that they refuse")
  func signingInputs() throws {
    for vector in try Vectors<SigningInputCase>.load("signing_inputs") {
      let input = try Self.bytes(vector.signingInput, vector.name)
      if let expected = vector.expect {
        let challenge = try Self.bytes(expected.challenge, vector.name)
        #expect(vector.written(challenge) == input && expected.policy == vector.policy, "\(vector.name)")
        #expect(vector.shown.map { $0.transaction.violations() } ?? [] == [], "\(vector.name)")
        #expect(
          expected.transactionSha256 == vector.shown.map { Base64URL.encode(sha256($0.transaction.canonicalBytes)) },
          "\(vector.name)")
      } else if Self.ofTransactions.contains(vector.refused ?? "") {
        #expect(vector.shown?.transaction.violations().isEmpty == false, "\(vector.name)")
      } else {
        let challenge = try vector.challenge.map { try Self.bytes($0, vector.name) } ?? Self.challenge(in: input)
        #expect(vector.written(challenge) != input, "\(vector.name)")
      }
    }
  }

  /// The service takes no PKCS #1: a kit sends such a key as a SubjectPublicKeyInfo.
  @Test("R31: the service takes the keys that kits send, and refuses those that they refuse")
  func keys() throws {
    for vector in try Vectors<KeyCase>.load("keys") {
      let bytes = try Self.bytes(vector.key, vector.name)
      guard let expected = vector.expect, expected.form != "pkcs1" else {
        #expect(throws: CryptoError.self, "\(vector.name)") { try PhoneKey(bytes: bytes) }
        continue
      }
      let key = try PhoneKey(bytes: bytes)
      #expect((key.kind == .rsa) == (expected.algorithm == "RSA"), "\(vector.name)")
      if let stored = expected.spki ?? expected.x963 {
        #expect(key.bytes == (try Self.bytes(stored, vector.name)), "\(vector.name)")
      }
    }
  }

  @Test(
    "R31: a refused key is refused by the name of its fault",
    arguments: [
      ("rsa-too-small", ["bits, fewer than 2048"]), ("rsa-too-large", ["bits, more than "]),
      ("rsa-even", ["even"]), ("rsa-exponent", ["exponent"]), ("pem", ["PEM"]),
    ])
  func names(_ code: String, _ words: [String]) throws {
    let wrong = try Vectors<KeyCase>.load("keys").filter { $0.refused == code && !$0.name.contains("PKCS") }
    #expect(!wrong.isEmpty)
    for vector in wrong {
      let bytes = try Self.bytes(vector.key, vector.name)
      let error = #expect(throws: CryptoError.self, "\(vector.name)") { try PhoneKey(bytes: bytes) }
      #expect(words.contains { error?.message.contains($0) == true }, "\(vector.name): \(error?.message ?? "")")
    }
  }

  /// The demo, the scenarios and the load send a failure's raw value.
  @Test(
    "The simulated phone fails with the codes that kits send as they are", arguments: SimulatedPhone.Failure.allCases)
  func failures(_ failure: SimulatedPhone.Failure) throws {
    let code = failure.rawValue
    let vector = try Vectors<ErrorCase>.load("errors").first { $0.platform == "ios-la-error" && $0.code == code }
    #expect(vector?.expect.send == code)
  }

  @Test("R20: the service chooses the language that kits expect")
  func languages() throws {
    for vector in try Vectors<LanguageCase>.load("languages") {
      #expect(Language(acceptLanguage: vector.languages).tag == vector.expect.language, "\(vector.languages)")
    }
  }

  /// As an attempt: the flow's own step, and the check that it asks for.
  @Test("R31, R33: signatures of each kind of key and of each form come out as in kits")
  func signatures() throws {
    let policy = EvaluationPolicy(name: "login", purpose: .login, factors: [.biometry], tokenLifetime: nil)
    for vector in try Vectors<SignatureCase>.load("signatures") {
      let input = try Self.bytes(vector.signingInput, vector.name)
      let key = try PhoneKey(bytes: try Self.bytes(vector.key, vector.name))
      #expect((key.kind == .rsa) == (vector.algorithm == "RSA"), "\(vector.name)")
      let signature = KeySignature(
        bytes: try Self.bytes(vector.signature, vector.name), mlDSA65: [],
        form: vector.form == "RAW" ? .raw : .base64URLText)
      let terms = AttemptTerms.sample(
        .key(factor: .biometry, signature: signature), under: policy, of: .binding("b_7Qm2xT0kVw1"), in: "shop",
        challenge: Self.challenge(in: input))
      #expect(terms.signingInput == input, "\(vector.name)")

      let record = HardwareKeyRecord(key.kind, publicKey: key.bytes, protection: .biometryCurrentSet)
      let binding = BindingRecord.sample("b_7Qm2xT0kVw1", credential: .hardwareKeys([record]), version: 1)
      let records = AttemptRecords(
        binding: binding, device: DeviceRecord(deviceID: binding.deviceID),
        profile: ProfileRecord(applicationID: binding.applicationID, profileID: binding.profileID, version: 1),
        evaluation: nil)
      var attempt = KeyAttempt(of: terms, EnrolmentPolicy())
      let moment = Moment(now: AttemptTerms.sampleNow, policies: PolicyBook([policy]))
      let isValid: Bool
      switch attempt.read(SharedRecord(Subject(ofBinding: records)), at: moment) {
      case .verify(let check): isValid = BatchVerifier.fastest.verify([check]) == [true]
      case .verifyApart(let check): isValid = check.isValid
      case let step:
        Issue.record("\(vector.name): \(step.words)")
        continue
      }
      #expect(isValid == (vector.refused == nil), "\(vector.name)")
    }
  }
}
