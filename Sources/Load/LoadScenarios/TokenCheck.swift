// Checks a token's claims. The load checks all tokens, at about a microsecond each.

internal import Encodings

/// The claims that a token must have (docs/TOKENS.md).
package struct TokenExpectation: Hashable, Sendable {
  package var purpose: PhoneRequest.Purpose
  package var application: String
  package var policy: String
  package var bindingID: String
  /// `nil`: not known.
  package var profileID: String?
  /// The expiry in the answer that the token came with, in seconds since 1970.
  package var expiresAt: Int64

  package init(
    _ purpose: PhoneRequest.Purpose, application: String, policy: String, bindingID: String, profileID: String?,
    expiresAt: Int64
  ) {
    (self.purpose, self.application, self.policy) = (purpose, application, policy)
    (self.bindingID, self.profileID, self.expiresAt) = (bindingID, profileID, expiresAt)
  }
}

/// Reads tokens. It remembers the latest header, since nearly all tokens have the same few.
package struct TokenCheck: Sendable {
  /// The parts of a token, for its signature.
  package struct Parts: Sendable {
    let signed: [UInt8]
    let signature: [UInt8]
    package let keyID: String
  }

  private struct Header {
    var segment: [UInt8] = []
    var keyID = ""
  }

  /// Apart, since they alternate.
  private var loginHeader = Header()
  private var paymentHeader = Header()

  /// How far the service's clock may be ahead, in seconds: replicas may differ by 30.
  private static let maximumSkew: Int64 = 120

  package init() {}

  /// Returns the first fault, such as "the token's audience"; `nil` if the token is right.
  ///
  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - parts: receives the parts of a right token, if the caller wants them.
  package mutating func fault(
    in token: String, _ expected: TokenExpectation, now: Int64, parts: inout Parts?, wantsParts: Bool = true
  ) -> String? {
    guard !token.isEmpty else { return "no token" }
    var token = token
    return token.withUTF8 { bytes in
      let point = UInt8(ascii: ".")
      guard let first = bytes.firstIndex(of: point), let last = bytes.lastIndex(of: point), first < last,
        let keyID = keyID(of: bytes[..<first], expected.purpose)
      else { return "the token's header" }
      guard let payload = Base64URL.decode(bytes[(first + 1)..<last]), let claims = FlatJSON(payload) else {
        return "the token's form"
      }
      if let fault = fault(in: claims, expected, now: now) { return "the token's \(fault)" }
      if wantsParts {
        parts = Parts(signed: Array(bytes[..<last]), signature: Array(bytes[(last + 1)...]), keyID: keyID)
      }
      return nil
    }
  }

  private func fault(in claims: FlatJSON, _ expected: TokenExpectation, now: Int64) -> String? {
    let isPayment = expected.purpose == .payment
    guard claims.isText("aud", expected.application, isPayment ? "/payment" : "") else { return "audience" }
    guard claims.isText("acr", expected.policy) else { return "policy" }
    guard claims.isText("bnd", expected.bindingID) else { return "binding" }
    if let profileID = expected.profileID, !claims.isText("sub", profileID) { return "subject" }
    guard claims.isLiteral("single_use", "true") == isPayment else { return "single_use" }
    guard (claims["txn"] != nil) == isPayment else { return "transaction" }
    guard let issuedAt = claims.integer("iat"), issuedAt <= now + Self.maximumSkew else { return "time of issue" }
    guard claims.integer("exp") == expected.expiresAt, expected.expiresAt > now - Self.maximumSkew,
      expected.expiresAt > issuedAt
    else { return "expiry" }
    return nil
  }

  private mutating func keyID(of segment: Slice<UnsafeBufferPointer<UInt8>>, _ purpose: PhoneRequest.Purpose) -> String?
  {
    let known = purpose == .payment ? paymentHeader : loginHeader
    if !segment.isEmpty, known.segment.elementsEqual(segment) { return known.keyID }
    guard let bytes = Base64URL.decode(segment), let header = FlatJSON(bytes), header.isText("alg", "ES256"),
      header.isText("typ", purpose == .payment ? "payment+jwt" : "JWT"), let keyID = header.text("kid")
    else { return nil }
    let read = Header(segment: Array(segment), keyID: keyID)
    if purpose == .payment { paymentHeader = read } else { loginHeader = read }
    return keyID
  }
}
