/// The roots that are trusted unless an operator names others.
package struct TrustAnchors: Sendable {
  package var appAttest: [Certificate]
  package var androidHardware: [Certificate]
  /// Their private keys are public: a chain to them proves nothing but its own soundness.
  package var androidSoftware: [Certificate]
  package var appleWebAuthn: [Certificate]
  /// The roots for the formats packed, fido-u2f and tpm, for models that are not in the metadata.
  package var authenticators: [Certificate]
  /// `nil`, and no other roots of authenticators either: their statements are judged, and their certificates' origin is
  /// not.
  package var metadata: AuthenticatorMetadata?

  /// Adds roots for all formats whose certificates come from an authenticator's maker, Apple's among them.
  package mutating func trustAuthenticators(by roots: [Certificate]) {
    authenticators += roots
    appleWebAuthn += roots
  }

  /// Each file's subject, validity and hash are in Roots/README.md.
  package static func builtIn() throws(ProofError) -> TrustAnchors {
    TrustAnchors(
      appAttest: try read(PackageResources.apple_app_attestation_root_ca_pem),
      androidHardware: try read(PackageResources.google_hardware_rsa_2016_pem)
        + read(PackageResources.google_hardware_rsa_2019_pem) + read(PackageResources.google_hardware_rsa_2021_pem)
        + read(PackageResources.google_hardware_rsa_2022_pem) + read(PackageResources.google_hardware_p384_2025_pem),
      androidSoftware: try read(PackageResources.google_software_ec_pem)
        + read(PackageResources.google_software_rsa_pem),
      appleWebAuthn: try read(PackageResources.apple_webauthn_root_ca_pem), authenticators: [])
  }

  private static func read(_ pem: [UInt8]) throws(ProofError) -> [Certificate] {
    try Certificate.readPEM(String(decoding: pem, as: UTF8.self))
  }
}
