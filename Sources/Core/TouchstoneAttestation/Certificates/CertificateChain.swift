// From a leaf to a root that is trusted.

/// Certificates of a proof, leaf first.
package struct CertificateChain: Sendable {
  /// Android's have five, with the root; a sixth is in sight.
  static let maximumCount = 8

  package let certificates: [Certificate]

  package var leaf: Certificate { certificates[0] }

  package init(_ certificates: [Certificate]) throws(ProofError) {
    guard !certificates.isEmpty else { throw ProofError(.chainIncomplete, "no certificates") }
    guard certificates.count <= Self.maximumCount else {
      throw ProofError(.chainBroken, "more than \(Self.maximumCount) certificates")
    }
    self.certificates = certificates
  }

  /// x5c of an attestation statement.
  init(x5c: CBOR?) throws(ProofError) {
    guard let items = x5c?.array else { throw ProofError(.malformedStatement, "x5c") }
    guard items.count <= Self.maximumCount else {
      throw ProofError(.chainBroken, "more than \(Self.maximumCount) certificates")
    }
    var certificates: [Certificate] = []
    for item in items {
      guard let bytes = item.bytes else { throw ProofError(.malformedStatement, "x5c") }
      certificates.append(try Certificate(der: bytes))
    }
    try self.init(certificates)
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
    /// A factory's certificates outlive their time on the phones that have them.
    case notBefore
  }

  /// The root that it leads to, by public key: several certificates may have one key, and the root may be left out.
  ///
  /// - Parameter time: seconds since 1970.
  func anchor(among anchors: [Certificate], at time: Int, _ times: Times) throws(ProofError) -> Certificate {
    for (number, certificate) in certificates.enumerated() where number > 0 {
      try check(certificates[number - 1], by: certificate, below: number - 1)
    }
    for (number, certificate) in certificates.enumerated() where number > 0 || times == .all {
      try checkTime(of: certificate, number, at: time, times)
    }
    return try anchor(among: anchors)
  }

  private func check(_ certificate: Certificate, by issuer: Certificate, below count: Int) throws(ProofError) {
    guard certificate.names(asIssuer: issuer) else {
      throw ProofError(.chainBroken, "certificate \(count): the next one is not its issuer")
    }
    guard issuer.isAuthority, issuer.maySignCertificates, issuer.pathLength.map({ count <= $0 }) ?? true else {
      throw ProofError(.chainBroken, "certificate \(count + 1): may not issue certificates")
    }
    guard certificate.isSigned(by: issuer) else {
      throw ProofError(.chainBroken, "certificate \(count): its issuer's signature is not valid")
    }
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

  private func anchor(among anchors: [Certificate]) throws(ProofError) -> Certificate {
    let last = certificates[certificates.count - 1]
    if certificates.count > 1 || last.isSigned(by: last) {
      let key = last.subjectPublicKeyInfo
      if let anchor = anchors.first(where: { $0.subjectPublicKeyInfo == key }) { return anchor }
    }
    // A trusted certificate may be the leaf's own, as FIDO's metadata has it.
    if let anchor = anchors.first(where: { $0 == last }) { return anchor }
    if let anchor = anchors.first(where: { last.names(asIssuer: $0) && last.isSigned(by: $0) }) { return anchor }
    throw ProofError(certificates.count > 1 ? .rootUnknown : .chainIncomplete, "it does not lead to a trusted root")
  }
}
