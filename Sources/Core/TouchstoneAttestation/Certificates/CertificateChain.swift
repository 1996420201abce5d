/// Certificates of a proof, from the leaf to a root that is trusted.
package struct CertificateChain: Sendable {
  /// Android's have five, with the root; a sixth is in sight.
  package static let maximumCount = 8

  package let certificates: [Certificate]

  package var leaf: Certificate { certificates[0] }

  package init(_ certificates: [Certificate]) throws(ProofError) {
    guard !certificates.isEmpty else { throw ProofError(.chainIncomplete, "no certificates") }
    guard certificates.count <= Self.maximumCount else {
      throw ProofError(.chainBroken, "more than \(Self.maximumCount) certificates")
    }
    self.certificates = certificates
  }

  /// - Parameter known: a certificate with these bytes that was read before.
  package init(der: [[UInt8]], known: ([UInt8]) -> Certificate? = { _ in nil }) throws(ProofError) {
    guard der.count <= Self.maximumCount else {
      throw ProofError(.chainBroken, "more than \(Self.maximumCount) certificates")
    }
    var certificates: [Certificate] = []
    for bytes in der {
      if let certificate = known(bytes) {
        certificates.append(certificate)
      } else {
        certificates.append(try Certificate(der: bytes))
      }
    }
    try self.init(certificates)
  }

  /// x5c of an attestation statement.
  init(x5c: CBOR?, known: ([UInt8]) -> Certificate? = { _ in nil }) throws(ProofError) {
    guard let items = x5c?.array else { throw ProofError(.malformedStatement, "x5c") }
    var der: [[UInt8]] = []
    for item in items {
      guard let bytes = item.bytes else { throw ProofError(.malformedStatement, "x5c") }
      der.append(bytes)
    }
    try self.init(der: der, known: known)
  }

  package init(pem: [String]) throws(ProofError) {
    var certificates: [Certificate] = []
    for text in pem { certificates += try Certificate.readPEM(text) }
    try self.init(certificates)
  }

  /// Which certificates' times count.
  enum Times {
    case all
    case allButLeaf
    /// A factory's certificates outlive their time on the phones that have them. Some say that they may not issue, and
    /// did: as Google's verifier, whether they may does not count.
    case notBefore
  }

  /// The root that it leads to. Several certificates may have a root's key, and the root may be left out.
  ///
  /// From the root down, so that no signature is verified but by a key that a trusted one vouches for: the keys of a
  /// chain that was made up cost nothing.
  ///
  /// - Parameters:
  ///   - time: seconds since 1970.
  ///   - signatures: which need not be verified again. All else is looked at each time.
  func anchor(
    among anchors: [Certificate], at time: Int, _ times: Times, _ signatures: inout AuthoritySignatures
  ) throws(ProofError) -> Certificate {
    for (number, certificate) in certificates.enumerated() {
      guard !certificate.hasUnknownCriticalExtension else {
        throw ProofError(.certificateUnsuitable, "certificate \(number): a critical extension that is not known")
      }
    }
    let anchor = try anchor(among: anchors, &signatures)
    for number in certificates.indices.dropFirst().reversed() {
      try checkStrength(of: number, below: anchor)
      try check(number - 1, by: certificates[number], times, &signatures)
    }
    for (number, certificate) in certificates.enumerated() where number > 0 || times == .all {
      try checkTime(of: certificate, number, at: time, times)
    }
    return anchor
  }

  func anchor(among anchors: [Certificate], at time: Int, _ times: Times) throws(ProofError) -> Certificate {
    var signatures = AuthoritySignatures()
    return try anchor(among: anchors, at: time, times, &signatures)
  }

  private func check(
    _ number: Int, by issuer: Certificate, _ times: Times, _ signatures: inout AuthoritySignatures
  ) throws(ProofError) {
    guard certificates[number].names(asIssuer: issuer) else {
      throw ProofError(.chainBroken, "certificate \(number): the next one is not its issuer")
    }
    guard times == .notBefore || Self.mayIssue(issuer, below: number) else {
      throw ProofError(.chainBroken, "certificate \(number + 1): may not issue certificates")
    }
    guard try isSigned(number, by: issuer, &signatures) else {
      throw ProofError(.chainBroken, "certificate \(number): its issuer's signature is not valid")
    }
  }

  /// An authority's RSA key is as strong as others, unless the trusted root is weaker itself: that of Android's
  /// software has 1,024 bits.
  private func checkStrength(of number: Int, below anchor: Certificate) throws(ProofError) {
    let least = min(PublicKey.minimumRSABits, anchor.rsaBits ?? PublicKey.minimumRSABits)
    guard certificates[number].rsaBits.map({ $0 >= least }) ?? true else {
      throw ProofError(.certificateUnsuitable, "certificate \(number): an RSA key of fewer than \(least) bits")
    }
  }

  /// - Parameter count: the number of authorities between it and the leaf.
  private static func mayIssue(_ issuer: Certificate, below count: Int) -> Bool {
    issuer.isAuthority && issuer.maySignCertificates && issuer.pathLength.map { count <= $0 } ?? true
  }

  private func checkTime(
    of certificate: Certificate, _ number: Int, at time: Int, _ times: Times
  ) throws(ProofError) {
    if certificate.isBeforeValidity(at: time) {
      throw ProofError(.certificateNotYetValid, "certificate \(number)")
    }
    if times != .notBefore, certificate.isAfterValidity(at: time) {
      throw ProofError(.certificateExpired, "certificate \(number)")
    }
  }

  /// A leaf is a key's own, and does not come again.
  private func isSigned(
    _ number: Int, by issuer: Certificate, _ signatures: inout AuthoritySignatures
  ) throws(ProofError) -> Bool {
    guard number > 0 else { return try certificates[number].isSigned(by: issuer) }
    let signature = AuthoritySignature(of: certificates[number], by: issuer)
    if signatures.isKnown(signature) { return true }
    guard try certificates[number].isSigned(by: issuer) else { return false }
    signatures.verified.append(signature)
    return true
  }

  private func anchor(
    among anchors: [Certificate], _ signatures: inout AuthoritySignatures
  ) throws(ProofError) -> Certificate {
    let number = certificates.count - 1
    let last = certificates[number]
    // A trusted certificate may be the leaf's own, as FIDO's metadata has it.
    if let anchor = anchors.first(where: { $0 == last }) { return anchor }
    // Left out, or another certificate of its key. Its key alone would not do: the rest of such a certificate, the
    // limits to what it may issue among it, would be the peer's word.
    let count = last.names(asIssuer: last) ? number - 1 : number
    for anchor in anchors where last.names(asIssuer: anchor) && Self.mayIssue(anchor, below: count) {
      if try isSigned(number, by: anchor, &signatures) { return anchor }
    }
    throw ProofError(number > 0 ? .rootUnknown : .chainIncomplete, "it does not lead to a trusted root")
  }
}
