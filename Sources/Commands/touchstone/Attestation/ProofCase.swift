// A proof in JSON, as docs/ATTESTATION.md describes it: what `touchstone attestation check` judges.

internal import Encodings
internal import FoundationEssentials
internal import TouchstoneAttestation

/// One case of a file. Which members it needs depends on its kind.
struct ProofCase: Decodable {
  let id: String
  let kind: String
  let verifyAt: String?
  let expect: Expectation?

  // App Attest
  let appID: String?
  let environment: String?
  let clientDataHash: String?
  let keyID: String?
  let attestation: String?
  let assertion: String?
  let assertions: [AppAssertionCase]?
  let publicKey: String?
  let previousCounter: UInt32?

  // Android
  let chain: [String]?
  let challenge: String?
  let statusList: RevocationList?

  // Passkeys
  let rpID: String?
  let origins: Origins?
  /// The pages that may frame the ceremony's own.
  let topOrigins: Origins?
  /// The ceremony is expected in a frame of another origin, also if its browser does not name the page around it.
  let isCrossOrigin: Bool?
  let registration: Ceremony?
  let authentication: Ceremony?
  let credential: Credential?
  let rootsByFormat: [String: [String]]?
  let trustRoot: String?
  /// Where a case is one ceremony, its members stand beside `id`.
  private(set) var ceremony = Ceremony()

  enum Expectation: String, Decodable {
    case accept
    case reject
    /// Sound, or nearly so: a setting decides.
    case policy
    /// The chain ends in a root whose private key is public.
    case acceptOnlyAsSoftware = "accept-only-as-software"
  }

  private enum CodingKeys: String, CodingKey {
    case id, kind, expect, environment, assertions, registration, authentication, credential
    case verifyAt = "verify_at"
    case appID = "app_id"
    case clientDataHash = "client_data_hash_b64"
    case keyID = "key_id_b64"
    case attestation = "attestation_b64"
    case assertion = "assertion_b64"
    case publicKey = "public_key_x962_b64"
    case previousCounter = "previous_counter"
    case chain = "chain_pem"
    case challenge = "challenge_b64"
    case statusList = "status_list"
    case rpID = "rp_id"
    case origins = "origin"
    case topOrigins = "top_origin"
    case isCrossOrigin = "cross_origin"
    case rootsByFormat = "pem_root_certs_by_fmt"
    case trustRoot = "trust_root_pem"
  }

  /// Reads one case, or an array of cases.
  static func read(_ data: Data) throws -> [ProofCase] {
    let decoder = JSONDecoder()
    let isArray = data.first { $0 > UInt8(ascii: " ") } == UInt8(ascii: "[")
    func all<Value: Decodable>(_ type: Value.Type) throws -> [Value] {
      isArray ? try decoder.decode([Value].self, from: data) : [try decoder.decode(type, from: data)]
    }
    var cases = try all(ProofCase.self)
    for (index, ceremony) in try all(Ceremony.self).enumerated() { cases[index].ceremony = ceremony }
    return cases
  }

  struct AppAssertionCase: Decodable {
    let assertion: String
    let clientDataHash: String
    let previousCounter: UInt32
    let expect: Expectation?

    enum CodingKeys: String, CodingKey {
      case expect
      case assertion = "assertion_b64"
      case clientDataHash = "client_data_hash_b64"
      case previousCounter = "previous_counter"
    }
  }

  struct Ceremony: Decodable {
    private(set) var challenge: String?
    private(set) var clientData: String?
    private(set) var attestationObject: String?
    private(set) var authenticatorData: String?
    private(set) var signature: String?
    private(set) var publicKey: String?
    private(set) var previousSignCount: UInt32?
    private(set) var requiresUserVerification: Bool?
    private(set) var expect: Expectation?

    enum CodingKeys: String, CodingKey {
      case expect
      case challenge = "expected_challenge_b64u"
      case clientData = "clientDataJSON_b64u"
      case attestationObject = "attestationObject_b64u"
      case authenticatorData = "authenticatorData_b64u"
      case signature = "signature_b64u"
      case publicKey = "credential_public_key_cose_b64u"
      case previousSignCount = "previous_sign_count"
      case requiresUserVerification = "require_user_verification"
    }
  }

  /// As a browser's `PublicKeyCredential.toJSON()` writes it, or as Python's `webauthn` keeps it: other names, and
  /// bytes as {"b64": …}.
  struct Credential: Decodable {
    let response: Response

    struct Response: Decodable {
      let clientData: String?
      let attestationObject: String?
      let authenticatorData: String?
      let signature: String?

      private enum Name: String, CodingKey {
        case clientDataJSON, attestationObject, authenticatorData, signature
        case clientDataSnake = "client_data_json"
        case attestationObjectSnake = "attestation_object"
        case authenticatorDataSnake = "authenticator_data"
      }

      init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Name.self)
        func bytes(_ names: Name...) throws -> String? {
          for name in names where members.contains(name) {
            if let text = try? members.decode(String.self, forKey: name) { return text }
            return try members.decode([String: String].self, forKey: name)["b64"].flatMap(Self.base64URL)
          }
          return nil
        }
        clientData = try bytes(.clientDataJSON, .clientDataSnake)
        attestationObject = try bytes(.attestationObject, .attestationObjectSnake)
        authenticatorData = try bytes(.authenticatorData, .authenticatorDataSnake)
        signature = try bytes(.signature)
      }

      private static func base64URL(_ text: String) -> String? {
        Data(base64Encoded: text).map { Base64URL.encode(Array($0)) }
      }
    }
  }

  /// One, or a list.
  struct Origins: Decodable {
    let values: Set<String>

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let one = try? value.decode(String.self) {
        values = [one]
      } else {
        values = try value.decode(Set<String>.self)
      }
    }
  }
}
