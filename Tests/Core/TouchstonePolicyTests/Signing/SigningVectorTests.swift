// The vectors that docs/SIGNING.md offers to apps (R28, R33, R38).

import Foundation
import Testing
import TouchstonePolicy

/// Tests/Vectors/signing.json.
private struct SigningVectors: Decodable {
  var bindings: [Binding]
  var evaluations: [Evaluation]

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
}
