internal import Crypto
internal import Synchronization

/// An app's App Attest keys on one phone, as DCAppAttestService has them. Thread-safe.
///
/// ```swift
/// let service = SimulatedAppAttest(appID: "A1B2C3D4E5.org.example.shop", authority: authority)
/// let keyID = service.generateKey()
/// let attestation = service.attestKey(keyID, clientDataHash: hash)
/// let assertion = service.generateAssertion(keyID, clientDataHash: another)
/// ```
public final class SimulatedAppAttest: Sendable {
  public enum Environment: Sendable, Hashable {
    case development
    case production

    fileprivate var aaguid: [UInt8] {
      switch self {
      case .development: Array("appattestdevelop".utf8)
      case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
      }
    }
  }

  private struct AppKey {
    let key: SoftwareKey
    /// The counter of the last assertion.
    var counter: UInt32 = 0
  }

  private struct Core {
    var randomness: PhoneRandomness
    /// By id.
    var keys: [[UInt8]: AppKey] = [:]
  }

  /// "TEAMID.bundle"
  public let appID: String
  private let environment: Environment
  private let authority: AppAttestAuthority
  private let core: Mutex<Core>

  /// - Parameter seed: makes keys reproducible; `nil`: the system's randomness. Signatures always differ.
  public init(
    appID: String, environment: Environment = .production, authority: AppAttestAuthority, seed: UInt64? = nil
  ) {
    self.appID = appID
    self.environment = environment
    self.authority = authority
    core = Mutex(Core(randomness: PhoneRandomness(seed: seed)))
  }

  /// Makes a key of P-256.
  /// - Returns: its id, the SHA-256 of its public key.
  public func generateKey() -> [UInt8] {
    core.withLock { core in
      let key = SoftwareKey(using: &core.randomness)
      let id = Array(SHA256.hash(data: key.publicKeyX963))
      core.keys[id] = AppKey(key: key)
      return id
    }
  }

  /// - Returns: the attestation object; `nil`: there is no such key.
  public func attestKey(_ keyID: [UInt8], clientDataHash: [UInt8]) -> [UInt8]? {
    guard let key = core.withLock({ $0.keys[keyID]?.key }) else { return nil }
    let data =
      AuthenticatorData(rpID: appID, flags: AuthenticatorData.attestedCredential, counter: 0).bytes
      + AuthenticatorData.credential(aaguid: environment.aaguid, id: keyID, publicKeyX963: key.publicKeyX963)
    let chain = authority.chain(for: key, nonce: Array(SHA256.hash(data: data + clientDataHash)))
    let statement = CBOR.map([
      (CBOR.text("x5c"), CBOR.array(chain.map { CBOR.bytes($0[...]) })),
      (CBOR.text("receipt"), CBOR.bytes([UInt8](repeating: 0, count: Self.receiptBytes)[...])),
    ])
    return AuthenticatorData.attestationObject(format: "apple-appattest", statement: statement, data)
  }

  /// Counts up.
  /// - Returns: the assertion; `nil`: there is no such key.
  public func generateAssertion(_ keyID: [UInt8], clientDataHash: [UInt8]) -> [UInt8]? {
    let used = core.withLock { core -> AppKey? in
      core.keys[keyID]?.counter += 1
      return core.keys[keyID]
    }
    guard let used else { return nil }
    // Assertions have this flag, too, though no credential follows.
    let data =
      AuthenticatorData(rpID: appID, flags: AuthenticatorData.attestedCredential, counter: used.counter).bytes
    return CBOR.map([
      (CBOR.text("signature"), CBOR.bytes(used.key.sign(Array(SHA256.hash(data: data + clientDataHash)))[...])),
      (CBOR.text("authenticatorData"), CBOR.bytes(data[...])),
    ])
  }

  /// Apple's have 3 to 4 KB, which Apple alone reads.
  private static let receiptBytes = 3_500
}
