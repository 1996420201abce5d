// Certificates and identities (SecCertificate.h, SecIdentity.h). Code that casts a keychain's result to them compiles.
// The simulated keychain holds none, so that no value of these types exists.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// A certificate. No query finds one.
public final class SecCertificate: Sendable {
  private init() {}
}

/// A certificate with its private key. No query finds one.
public final class SecIdentity: Sendable {
  private init() {}
}

public func SecCertificateGetTypeID() -> CFTypeID { 3 }

public func SecIdentityGetTypeID() -> CFTypeID { 4 }
