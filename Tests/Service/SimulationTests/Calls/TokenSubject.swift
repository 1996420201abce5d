// The claims of a token, read without the service's help (RFC 7519).

import Encodings
import FoundationEssentials

struct TokenSubject {
  var tokenID: String
  var profileID: String
  /// Empty: of a profile alone.
  var bindingID: String

  private struct Claims: Decodable {
    var jti: String
    var sub: String
    var bnd: String?
  }

  /// `nil` for what is no token.
  init?(_ token: String) {
    let segments = token.split(separator: ".")
    guard segments.count == 3, let payload = Base64URL.decode(String(segments[1])),
      let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload))
    else { return nil }
    tokenID = claims.jti
    profileID = claims.sub
    bindingID = claims.bnd ?? ""
  }
}
