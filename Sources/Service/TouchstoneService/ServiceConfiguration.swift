// The settings of an installation. Everything has a safe default.

package import TouchstoneAttestation
public import TouchstoneCrypto
internal import TouchstoneMetrics
public import TouchstonePolicy
internal import TouchstoneStore

public struct ServiceConfiguration: Sendable {
  /// The `iss` of every token.
  public var issuer = "touchstone"
  /// Keeps tokens below the size that introspection reads.
  public static let maximumIssuerBytes = 256
  /// If two have the same name, the last one counts.
  public var policies: [EvaluationPolicy] = EvaluationPolicy.builtIn
  /// The callers; `nil`: every process on this machine may call, and none on other machines.
  public var callers: [CallerDefinition]?
  /// `nil`: all applications belong to one vendor as long as the service runs.
  public var vendors: Vendors?
  /// Whether callers with a grant may read the methods' descriptions.
  public var servesReflection = true
  public var enrolment = EnrolmentPolicy()
  package var attestationTrust = AttestationTrust()
  /// Each application's demands on the proofs of its keys. For other applications, a proof is welcome and not required.
  package var applications: [String: AttestationRequirements] = [:]
  /// The relying party of operators' passkeys; `nil`: operators have none.
  package var operatorPasskeys: PasskeyRequirements?
  /// The cost of a guess at a passcode or gesture (R16).
  public var secretHashing = PasswordHasher.Parameters.standard

  public init() {}

  /// With the console's own.
  func serving(_ policies: [EvaluationPolicy]) -> [EvaluationPolicy] {
    operatorPasskeys == nil ? policies : policies + [.console]
  }

  /// With the console's own.
  func serving(_ applications: [String: AttestationRequirements]) -> [String: AttestationRequirements] {
    guard let operatorPasskeys else { return applications }
    let own = AttestationRequirements(passkeys: operatorPasskeys)
    return applications.merging([ApplicationID.console: own]) { _, own in own }
  }

  /// The applications that callers or vendors name, some of them more than once.
  public var namedApplications: [String] {
    let granted = (callers ?? []).flatMap { caller in
      if case .these(let applications) = caller.applications { applications } else { [String]() }
    }
    return granted + (vendors?.applications ?? [])
  }
}

extension EvaluationPolicy {
  /// For the passkeys of operators. Its success issues no token.
  package static let console = EvaluationPolicy(
    name: ApplicationID.console, purpose: .login, factors: [.passkey], tokenLifetime: nil)
}

extension [EvaluationPolicy] {
  package func named(_ name: String) -> EvaluationPolicy? {
    first { Identifier.areEqual($0.name, name) }
  }
}

/// The policies by name, and nothing else: a name that is not here is refused. One reference, as each call takes it.
final class PolicyBook: Sendable {
  /// A policy, and its revision, which every evaluation carries. One reference, for the way of each call.
  final class Entry: Sendable {
    let policy: EvaluationPolicy
    let revision: UInt64
    let meters: PolicyMeters
    /// The same for applications that serve none; `nil`: it accepts none.
    let withoutPasskeys: Entry?
    /// The only application that it serves; `nil`: it serves all.
    let owner: String?

    var acceptsPasskeys: Bool { withoutPasskeys != nil }

    convenience init(_ policy: EvaluationPolicy, _ metrics: MetricRegistry) {
      let meters = PolicyMeters(policy, metrics)
      let revision = policy.revision
      let acceptsPasskeys = policy.factors.contains(.passkey)
      self.init(
        policy, revision, meters,
        withoutPasskeys: acceptsPasskeys ? Entry(policy.withoutPasskeys, revision, meters, withoutPasskeys: nil) : nil)
    }

    private init(_ policy: EvaluationPolicy, _ revision: UInt64, _ meters: PolicyMeters, withoutPasskeys: Entry?) {
      self.policy = policy
      self.revision = revision
      self.meters = meters
      self.withoutPasskeys = withoutPasskeys
      owner = Identifier.areEqual(policy.name, EvaluationPolicy.console.name) ? ApplicationID.console : nil
    }

    func serves(_ applicationID: String) -> Bool { owner.map { Identifier.areEqual($0, applicationID) } ?? true }
  }

  private let entries: [String: Entry]
  private let passcodeLadder: Ladder
  private let gestureLadder: Ladder
  /// The policy of a diagnosis that names none.
  let usual: String?

  init(_ policies: [EvaluationPolicy], _ metrics: MetricRegistry = MetricRegistry()) {
    let named = Dictionary(policies.map { ($0.name, $0) }) { _, last in last }
    entries = named.mapValues { Entry($0, metrics) }
    usual = policies.filter { [entries] in entries[$0.name]?.owner == nil }.usual?.name
    passcodeLadder = .strictest(of: named.values, for: .passcode)
    gestureLadder = .strictest(of: named.values, for: .gesture)
  }

  /// Returns the ladder for a secret that is tried outside of an evaluation.
  ///
  /// - Parameter factor: passcode or gesture.
  func ladder(for factor: Factor) -> Ladder {
    factor == .gesture ? gestureLadder : passcodeLadder
  }

  /// Byte for byte: as a key, a `String` is also found by another spelling of it (the Kelvin sign for a K).
  subscript(name: String) -> Entry? {
    entries[name].flatMap { Identifier.areEqual($0.policy.name, name) ? $0 : nil }
  }
}

/// Which certificates of keys are trusted: of phones', and of authenticators'.
package struct AttestationTrust: Sendable {
  /// The roots that a chain of Android's hardware must lead to; `nil`: Google's roots.
  package var roots: [Certificate]?
  /// The roots that an attestation of App Attest must lead to; `nil`: Apple's root.
  package var appAttestRoots: [Certificate]?
  /// The roots that authenticators' certificates must lead to, if the metadata does not have the model; empty: no root
  /// beside it.
  package var authenticatorRoots: [Certificate] = []
  /// FIDO's; `nil`: no model of authenticators is known.
  package var metadata: AuthenticatorMetadata?
  /// The serial numbers of certificates that prove nothing any more, as `RevocationList` has them.
  package var revokedSerialNumbers: Set<String> = []
  /// The dates of the files that were read for Android.
  package var dates: [TrustDate] = []
  package var appAttestDates: [TrustDate] = []
  package var authenticatorDates: [TrustDate] = []
  /// While any of it is too old, no proof of its platform is judged, and no key is bound by one.
  package var refusesWhenTooOld = false

  package init() {}

  package var allDates: [TrustDate] { dates + appAttestDates + authenticatorDates }

  func isRefused(at now: UnixTime) -> Bool { isRefused(dates, at: now) }
  func isAppAttestRefused(at now: UnixTime) -> Bool { isRefused(appAttestDates, at: now) }
  func areAuthenticatorsRefused(at now: UnixTime) -> Bool { isRefused(authenticatorDates, at: now) }

  private func isRefused(_ dates: [TrustDate], at now: UnixTime) -> Bool {
    refusesWhenTooOld && dates.contains { $0.isTooOld(at: now) }
  }

  /// The built-in roots, and what takes their place or comes beside them.
  package func anchors() throws(ProofError) -> TrustAnchors {
    var anchors = try TrustAnchors.builtIn()
    if let roots { anchors.androidHardware = roots }
    if let appAttestRoots { anchors.appAttest = appAttestRoots }
    anchors.authenticators = authenticatorRoots
    anchors.metadata = metadata
    return anchors
  }
}

/// How old trust data is, and may be (R45).
package struct TrustDate: Sendable, Hashable {
  /// The setting that names the file.
  package var setting: String
  package var origin: Origin
  package var maximumAge: Duration

  package enum Origin: Sendable, Hashable {
    /// When the file was written: neither PEM nor Google's list states a date.
    case written(UnixTime)
    /// When the next publication was due, as FIDO's metadata says itself. It may be late by the age.
    case due(UnixTime)
  }

  /// A file from further ahead has a wrong date, and its age is unknown.
  package static let toleratedLead = Duration.seconds(86_400)
  /// FIDO announces the next one for a month later at most.
  package static let toleratedNotice = Duration.seconds(100 * 86_400)

  package init(setting: String, _ origin: Origin, maximumAge: Duration) {
    self.setting = setting
    self.origin = origin
    self.maximumAge = maximumAge
  }

  /// The time from which the age counts.
  package var time: UnixTime {
    switch origin {
    case .written(let time), .due(let time): time
    }
  }

  package func isTooOld(at now: UnixTime) -> Bool {
    switch origin {
    case .written(let time): time + maximumAge < now || time > now + Self.toleratedLead
    case .due(let time): time + maximumAge < now || time > now + Self.toleratedNotice
    }
  }
}

/// The keys that may be replaced while the service runs, and what is made of them. One reference, for the way of each
/// call.
final class ServiceKeys: Sendable {
  let sealer: ContentSealer
  let tokenSigner: TokenSigner
  let tokenVerifier: TokenVerifier
  /// The public halves, as a JWK Set.
  let jwkSet: String

  init(_ keys: KeyRing, issuer: String, randomness: Randomness, lineage: Lineage) {
    sealer = ContentSealer(Sealer(keys: keys.sealing, randomness: randomness), in: lineage)
    tokenSigner = TokenSigner(keys: keys.signing, issuer: issuer)
    tokenVerifier = TokenVerifier(keys: keys.signing, issuer: issuer)
    jwkSet = keys.signing.jwkSet
  }
}
