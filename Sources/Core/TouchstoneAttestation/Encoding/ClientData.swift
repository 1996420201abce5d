internal import Encodings

/// A browser's data about a ceremony (WebAuthn Level 3 §5.8.1): the members that count. Others may stand beside them;
/// `tokenBinding` of Level 1 is one of these since Level 3.
struct ClientData: Sendable {
  let type: String
  /// Base64url without padding.
  let challenge: String
  let origin: String
  let crossOrigin: Bool?
  let topOrigin: String?

  static func read(_ bytes: [UInt8]) throws(ProofError) -> ClientData {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONReader.read(bytes)
    } catch {
      throw ProofError(.malformedClientData, error.description)
    }
    guard case .object(let members) = value else { throw ProofError(.malformedClientData, "not an object of JSON") }
    return ClientData(
      type: try text("type", of: members), challenge: try text("challenge", of: members),
      origin: try text("origin", of: members), crossOrigin: try crossOrigin(of: members),
      topOrigin: try optionalText("topOrigin", of: members))
  }

  private static func text(_ name: String, of members: [String: JSONValue]) throws(ProofError) -> String {
    guard let text = try optionalText(name, of: members) else {
      throw ProofError(.malformedClientData, "\(name) is missing")
    }
    return text
  }

  /// `nil`: it is absent, or null.
  private static func optionalText(_ name: String, of members: [String: JSONValue]) throws(ProofError) -> String? {
    switch members[name] {
    case .string(let text): return text
    case .null, nil: return nil
    default: throw ProofError(.malformedClientData, "\(name) is not a string")
    }
  }

  private static func crossOrigin(of members: [String: JSONValue]) throws(ProofError) -> Bool? {
    switch members["crossOrigin"] {
    case .boolean(let isCrossOrigin): return isCrossOrigin
    case .null, nil: return nil
    default: throw ProofError(.malformedClientData, "crossOrigin is not a boolean")
    }
  }
}
