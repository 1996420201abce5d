// What a browser says of a ceremony (WebAuthn Level 3 §5.8.1).

internal import FoundationEssentials

struct ClientData: Sendable, Decodable {
  let type: String
  /// Base64url without padding.
  let challenge: String
  let origin: String
  let crossOrigin: Bool?
  let topOrigin: String?
  let tokenBinding: TokenBinding?

  /// Level 1. It is read no more; a status that the specification never had shows a forgery.
  struct TokenBinding: Sendable, Decodable {
    let status: String?

    private enum Name: String, CodingKey { case status }

    init(from decoder: any Decoder) throws {
      // Some early browsers sent a word.
      guard let members = try? decoder.container(keyedBy: Name.self) else {
        status = nil
        return
      }
      status = try members.decode(String.self, forKey: .status)
    }
  }

  static func read(_ bytes: [UInt8]) throws(ProofError) -> ClientData {
    let data: ClientData
    do {
      data = try JSONDecoder().decode(ClientData.self, from: Data(bytes))
    } catch {
      throw ProofError(.malformedClientData, "not the JSON of WebAuthn's client data")
    }
    if let status = data.tokenBinding?.status, status != "present" && status != "supported" {
      throw ProofError(.malformedClientData, "tokenBinding.status")
    }
    return data
  }
}
