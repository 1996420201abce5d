internal import Encodings
internal import FoundationEssentials

/// The credential by which the phones of a load prove themselves, by its name in scenarios.
package enum PhoneCredential: String, CaseIterable, Sendable {
  case p256
  /// ML-DSA-65 beside P-256 (R48).
  case hybrid
  /// A passkey in place of a phone's own key (R46). It has no device: nothing is locked, and no finger is changed.
  case passkey

  /// Whether phones of this kind can do it.
  package func serves(_ action: Action) -> Bool { self != .passkey || action.share != .exclusive }

  /// The relying party that a service has to name for passkeys of a load, and the page that they are used on.
  package static let rpID = "load.example"
  package static let origin = "https://load.example"

  /// `user.id` of the options that BeginBinding returns for a passkey; `nil`: there is none.
  package static func userHandle(inOptions json: String) -> [UInt8]? {
    struct Options: Decodable {
      struct User: Decodable {
        var id: String
      }

      var user: User
    }
    let options = try? JSONDecoder().decode(Options.self, from: Data(json.utf8))
    return options.flatMap { Base64URL.decode($0.user.id) }
  }
}
