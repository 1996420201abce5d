internal import COpenSSL

/// Android Key Attestation: the chain of a key's certificates, and what the keystore says of it (Android, "Verify
/// hardware-backed key pairs with key attestation").
package struct AndroidAttestation: Sendable {
  package let level: AttestationLevel
  package let description: KeyDescription
  /// The SubjectPublicKeyInfo of the attested key, in DER.
  package let subjectPublicKeyInfo: [UInt8]
  /// Its certificates were made for weeks, over the network, and not for years, in a factory.
  package let isRemotelyProvisioned: Bool
  let anchor: Certificate

  private static let provisioningExtension = "1.3.6.1.4.1.11129.2.1.30"

  /// Judges the proof alone. The policy decides what a key may be used for, and on which devices.
  ///
  /// - Parameters:
  ///   - time: seconds since 1970.
  ///   - revoked: serial numbers in lower-case hexadecimal digits.
  ///   - signatures: which of the authorities' need not be verified again; those of this chain are added.
  package static func verify(
    _ chain: CertificateChain, challenge: [UInt8], anchors: TrustAnchors, revoked: Set<String>, at time: Int,
    _ encoding: ProofEncoding = .strict, _ signatures: inout AuthoritySignatures
  ) throws(ProofError) -> AndroidAttestation {
    let isRemotelyProvisioned = chain.certificates.contains {
      // Before 2023 they had no extension, and Google's name alone.
      $0.extension(provisioningExtension) != nil || $0.isOfProvisioningAuthority
    }
    let anchor = try chain.anchor(
      among: anchors.androidHardware + anchors.androidSoftware, at: time,
      isRemotelyProvisioned ? .allButLeaf : .notBefore, &signatures)
    // The root may have been left out of the chain.
    for certificate in chain.certificates + [anchor] where revoked.contains(certificate.serialNumber) {
      throw ProofError(.certificateRevoked, "serial \(certificate.serialNumber)")
    }
    for (number, certificate) in chain.certificates.enumerated().dropFirst()
    where certificate.extension(KeyDescription.extensionID) != nil {
      throw ProofError(.extensionInIntermediate, "certificate \(number) attests a key of its own")
    }
    let description = try description(of: chain.leaf, encoding)
    guard areEqual(description.challenge, challenge) else {
      throw ProofError(.challengeDiffers, "the attestation is of another challenge")
    }
    let isHardware = anchors.androidHardware.contains(anchor)
    return AndroidAttestation(
      level: isHardware ? description.level : .selfAttested, description: description,
      subjectPublicKeyInfo: chain.leaf.subjectPublicKeyInfo, isRemotelyProvisioned: isRemotelyProvisioned,
      anchor: anchor)
  }

  package static func verify(
    _ chain: CertificateChain, challenge: [UInt8], anchors: TrustAnchors, revoked: Set<String>, at time: Int,
    _ encoding: ProofEncoding = .strict
  ) throws(ProofError) -> AndroidAttestation {
    var signatures = AuthoritySignatures()
    return try verify(
      chain, challenge: challenge, anchors: anchors, revoked: revoked, at: time, encoding, &signatures)
  }

  private static func description(
    of leaf: Certificate, _ encoding: ProofEncoding
  ) throws(ProofError) -> KeyDescription {
    guard let found = leaf.extension(KeyDescription.extensionID) else {
      throw ProofError(.extensionMissing, "the leaf attests no key")
    }
    return try KeyDescription(found.value, encoding)
  }

  /// The lists that count. If hardware vouches for the key, the operating system's list does not count.
  package var enforced: [Authorizations] {
    level > .selfAttested ? [description.hardware] : [description.hardware, description.software]
  }

  /// Whether the key was made where it is, for one app, to sign.
  package func checkUse() throws(ProofError) {
    guard !description.software.isForAllApplications, !description.hardware.isForAllApplications else {
      throw ProofError(.keyUnprotected, "the key serves all applications")
    }
    guard enforced.compactMap(\.origin).first == Authorizations.Number.originGenerated else {
      throw ProofError(.keyUnprotected, "the key was not generated in the keystore")
    }
    guard enforced.contains(where: { $0.purposes.contains(Authorizations.Number.purposeSign) }) else {
      throw ProofError(.keyUnprotected, "the key does not sign")
    }
  }

  /// - Parameter point: 04 ‖ x ‖ y on P-256.
  package func isOf(p256Point point: [UInt8]) -> Bool {
    subjectPublicKeyInfo == SubjectPublicKeyInfo.ellipticCurve(SubjectPublicKeyInfo.p256, point: point)
  }

  package var facts: [ProofFact] {
    var facts = [
      ProofFact("attestation_version", "\(description.version)"),
      ProofFact("remotely_provisioned", "\(isRemotelyProvisioned)"),
    ]
    if let root = description.hardware.rootOfTrust {
      facts.append(ProofFact("boot_state", root.bootState.name))
      facts.append(ProofFact("bootloader_locked", "\(root.isLocked)"))
    }
    if let level = description.hardware.osPatchLevel { facts.append(ProofFact("os_patch_level", "\(level)")) }
    if description.hardware.needsNoAuthentication { facts.append(ProofFact("user_authentication", "none")) }
    for name in description.software.application?.packages ?? [] { facts.append(ProofFact("package", name)) }
    return facts
  }
}

extension Certificate {
  /// "Droid CA2" and "Droid CA3" certify the keys that phones fetch.
  fileprivate var isOfProvisioningAuthority: Bool {
    subjectAttribute(NID_organizationName) == "Google LLC"
      && subjectAttribute(NID_commonName)?.hasPrefix("Droid CA") == true
  }
}

extension KeyDescription {
  /// The weaker of who says it and where the key is.
  fileprivate var level: AttestationLevel {
    switch min(attestationLevel.rawValue, keyMintLevel.rawValue) {
    case SecurityLevel.strongBox.rawValue: .strongbox
    case SecurityLevel.trustedEnvironment.rawValue: .tee
    default: .selfAttested
    }
  }
}
