// A make of Android phones, whose hardware certifies their keys (R44).

/// Certifies keys under a root of its own.
public final class AndroidMaker: Sendable {
  private let root: CertificateAuthority
  private let keystore: CertificateAuthority
  /// Tests have clocks of their own. That a factory's certificates end does not count.
  private static let tenYears = 10 * 365 * 86_400

  /// How a key is unlocked: Android's HardwareAuthenticatorType.
  public static let password: UInt8 = 1
  public static let biometrics: UInt8 = 2

  public init() {
    root = CertificateAuthority("Maker Root", notBeforeSeconds: -Self.tenYears)
    keystore = root.intermediate("Maker TEE", notBeforeSeconds: -Self.tenYears)
  }

  public var rootPEM: [UInt8] { root.pem }

  /// The hardware's statements on a key.
  public struct KeyDescription: Sendable {
    public var challenge: [UInt8]
    public var authenticators = AndroidMaker.biometrics
    public var isLocked = true
    /// 1: the trusted environment; 0: software.
    public var level: UInt8 = 1

    public init(challenge: [UInt8]) {
      self.challenge = challenge
    }

    fileprivate var der: [UInt8] {
      let package = DER.sequence(DER.octets(Array("com.example.shop".utf8)), DER.integer(7))
      let application = DER.sequence(DER.set([package]), DER.set([DER.octets([UInt8](repeating: 7, count: 32))]))
      let digest = DER.octets([UInt8](repeating: 0, count: 32))
      let rootOfTrust = DER.sequence(digest, DER.boolean(isLocked ? 0xFF : 0), DER.enumerated(0), digest)
      return DER.sequence(
        DER.integer(300), DER.enumerated(level), DER.integer(300), DER.enumerated(level), DER.octets(challenge),
        DER.octets([]), DER.sequence(DER.tagged(709, DER.octets(application))),
        DER.sequence(
          DER.tagged(1, DER.set([DER.integer(2)])), DER.tagged(2, DER.integer(3)), DER.tagged(3, DER.integer(256)),
          DER.tagged(504, DER.integer(Int(authenticators))), DER.tagged(702, DER.integer(0)),
          DER.tagged(704, rootOfTrust), DER.tagged(706, DER.integer(202_611))))
    }
  }

  /// A key of P-256, and the certificates that vouch for it, leaf first.
  public func key(_ description: KeyDescription) -> (scalar: [UInt8], chain: [[UInt8]]) {
    var request = CertificateRequest(commonName: "Android Keystore Key")
    request.attestation = ("1.3.6.1.4.1.11129.2.1.17", description.der)
    let issued = keystore.issue(request)
    return (issued.scalar, [issued.der, keystore.der, root.der])
  }
}
