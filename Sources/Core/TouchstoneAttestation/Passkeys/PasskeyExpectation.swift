internal import Crypto
internal import Encodings

/// A relying party's expectations of a ceremony (WebAuthn Level 3 §7.1, §7.2), and the checks that both ceremonies
/// share.
package struct PasskeyExpectation: Sendable {
  package var challenge: [UInt8]
  package var rpID: String
  /// "https://example.org", "android:apk-key-hash:…".
  package var origins: Set<String>
  /// The origins of pages that may frame the ceremony's own: a shop's, in which a bank's page has a payment approved.
  package var topOrigins: Set<String> = []
  /// Whether a frame will do, too, whose browser does not name the page around it, as those before Level 3.
  package var takesUnnamedFrames = false
  /// False for conditional create alone: a password manager makes the passkey by itself after a login (§7.1 step 15).
  package var requiresUserPresence = true
  package var requiresUserVerification: Bool
  /// Whether a registration's statement counts. If not, any format will do, and the level is `none`.
  package var readsStatement: Bool

  package init(
    challenge: [UInt8], rpID: String, origins: Set<String>, requiresUserVerification: Bool, readsStatement: Bool = true
  ) {
    self.challenge = challenge
    self.rpID = rpID
    self.origins = origins
    self.requiresUserVerification = requiresUserVerification
    self.readsStatement = readsStatement
  }

  /// Browsers send some 200 bytes; extensions and long origins may add as many.
  package static let maximumClientDataBytes = 4_096

  enum Ceremony: String {
    case registration = "webauthn.create"
    case authentication = "webauthn.get"
  }

  func check(clientData bytes: [UInt8], of ceremony: Ceremony) throws(ProofError) {
    guard bytes.count <= Self.maximumClientDataBytes else {
      throw ProofError(.malformedClientData, "\(bytes.count) bytes, more than \(Self.maximumClientDataBytes)")
    }
    if isPlain(bytes, of: ceremony) { return }
    let data = try ClientData.read(bytes)
    guard data.type == ceremony.rawValue else {
      throw ProofError(.typeDiffers, "type is \"\(data.type)\", not \"\(ceremony.rawValue)\"")
    }
    guard areEqual(data.challenge.utf8, Base64URL.encode(challenge).utf8) else {
      throw ProofError(.challengeDiffers, "the client data is of another challenge")
    }
    // Byte by byte: to Swift, the Kelvin sign and K are one.
    guard origins.contains(where: { $0.utf8.elementsEqual(data.origin.utf8) }) else {
      throw ProofError(.originDiffers, "origin \"\(data.origin)\"")
    }
    try checkFrame(data)
  }

  private func checkFrame(_ data: ClientData) throws(ProofError) {
    guard let topOrigin = data.topOrigin else {
      guard data.crossOrigin != true || takesUnnamedFrames else {
        throw ProofError(.crossOrigin, "the ceremony ran in a frame of another origin")
      }
      return
    }
    let isListed = topOrigins.contains { $0.utf8.elementsEqual(topOrigin.utf8) }
    guard data.crossOrigin == true, isListed else {
      throw ProofError(.crossOrigin, "the ceremony ran in a frame of \"\(topOrigin)\"")
    }
  }

  /// Whether it is what a browser writes for just this (§5.8.1.1), and nothing more. Comparing is as strict as reading
  /// it, and costs a twentieth.
  private func isPlain(_ bytes: [UInt8], of ceremony: Ceremony) -> Bool {
    let start = #"{"type":"\#(ceremony.rawValue)","challenge":"\#(Base64URL.encode(challenge))","origin":""#
    return origins.contains { origin in
      !Self.needsEscapes(origin) && bytes.elementsEqual((start + origin + #"","crossOrigin":false}"#).utf8)
    }
  }

  /// In JSON. No origin does; a setting could.
  private static func needsEscapes(_ text: String) -> Bool {
    !text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
  }

  func check(_ data: AuthenticatorData) throws(ProofError) {
    guard data.rpIDHash == Array(SHA256.hash(data: Array(rpID.utf8))) else {
      throw ProofError(.applicationDiffers, "the proof is for another relying party")
    }
    guard !requiresUserPresence || data.flags.contains(.userPresent) else {
      throw ProofError(.userNotPresent, "UP is not set")
    }
    guard !requiresUserVerification || data.flags.contains(.userVerified) else {
      throw ProofError(.userNotVerified, "UV is not set")
    }
    guard data.flags.contains(.backupEligible) || !data.flags.contains(.backedUp) else {
      throw ProofError(.backupFlagsContradict, "BS is set without BE")
    }
  }
}
