// A browser's data about a ceremony (WebAuthn Level 3 §5.8.1).

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
    // UTF-8, and no other encoding that the decoder would find out by itself.
    guard
      !bytes.contains(0), !bytes.starts(with: [0xEF, 0xBB, 0xBF]), String(validating: bytes, as: UTF8.self) != nil
    else {
      throw ProofError(.malformedClientData, "not UTF-8")
    }
    do {
      data = try JSONDecoder().decode(ClientData.self, from: Data(bytes))
    } catch {
      throw ProofError(.malformedClientData, "not the JSON of WebAuthn's client data")
    }
    if let status = data.tokenBinding?.status, status != "present" && status != "supported" {
      throw ProofError(.malformedClientData, "tokenBinding.status")
    }
    // If two members have one name, this decoder takes the first, and others take the last.
    var seen: Set<[UInt8]> = []
    for name in try Self.names(in: bytes) where !seen.insert(name).inserted {
      throw ProofError(.malformedClientData, "\"\(String(decoding: name, as: UTF8.self))\" twice")
    }
    return data
  }

  /// Returns the members' names of an object in JSON that was decoded, without those of objects inside it. The decoder
  /// does not check the strings that it passes over. This function checks all strings.
  private static func names(in json: [UInt8]) throws(ProofError) -> [[UInt8]] {
    var names: [[UInt8]] = []
    var depth = 0
    var isName = false
    var position = 0
    while position < json.count {
      switch json[position] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        isName = depth == 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ","): isName = depth == 1
      case UInt8(ascii: "\""):
        let text = try string(in: json, &position)
        if isName { names.append(text) }
        isName = false
      default: break
      }
      position += 1
    }
    // An escape would be a second way to write a name, which no browser uses.
    guard !names.contains(where: { $0.contains(UInt8(ascii: "\\")) }) else {
      throw ProofError(.malformedClientData, "an escape in a member's name")
    }
    return names
  }

  /// Returns the bytes between two quotation marks. The position moves from the first to the second.
  private static func string(in json: [UInt8], _ position: inout Int) throws(ProofError) -> [UInt8] {
    let start = position + 1
    position = start
    while position < json.count, json[position] != UInt8(ascii: "\"") {
      if json[position] == UInt8(ascii: "\\") { position += 1 }
      guard position < json.count, json[position] >= 0x20 else {
        throw ProofError(.malformedClientData, "a control character")
      }
      position += 1
    }
    guard position < json.count else { throw ProofError(.malformedClientData, "it ends early") }
    return Array(json[start..<position])
  }
}
