// Who calls, and what they may: pure. A peer and its key in, a caller's grants or a refusal out. What is not granted is
// refused, and no refusal depends on what is stored.

internal import DispatchRPC
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// Why a call is refused before anything of it is looked at. The names are the reasons in ErrorInfo and in the audit log.
enum AccessRefusal: String, CaseIterable, Sendable {
  /// Neither a certificate nor a key.
  case credentialsMissing = "CREDENTIALS_MISSING"
  /// The `authorization` is not "Bearer" and a key.
  case keyMalformed = "KEY_MALFORMED"
  case keyUnknown = "KEY_UNKNOWN"
  /// It came over a line that others may read.
  case keyInPlaintext = "KEY_IN_PLAINTEXT"
  /// No caller is known by it.
  case certificateUnknown = "CERTIFICATE_UNKNOWN"
  /// TLS did not let the client in, where it is asked for a certificate. There was no call, and nobody is answered this.
  case certificateRefused = "CERTIFICATE_REFUSED"
  /// Several callers are known by it, or it has several SPIFFE IDs.
  case certificateAmbiguous = "CERTIFICATE_AMBIGUOUS"
  /// Certificate and key are two callers'.
  case credentialsDiffer = "CREDENTIALS_DIFFER"
  case methodNotGranted = "METHOD_NOT_GRANTED"
  case applicationNotGranted = "APPLICATION_NOT_GRANTED"

  /// Else who calls is known, and may not.
  var isUnauthenticated: Bool {
    switch self {
    case .methodNotGranted, .applicationNotGranted: false
    default: true
    }
  }
}

/// What one caller may do.
final class CallerGrants: Sendable {
  let caller: Caller
  /// By a method's number.
  private let methods: [Bool]
  /// `nil`: all.
  private let applications: Set<ExactText>?

  init(_ definition: CallerDefinition) {
    caller = Caller(identity: definition.name)
    methods = ServedMethods.all.map { method in definition.methods.contains { $0.contains(method) } }
    switch definition.applications {
    case .all: applications = nil
    case .these(let names): applications = Set(names.map(ExactText.init))
    }
  }

  /// - Parameter method: `nil`: one without a rule.
  func include(_ method: ServedMethods.Number?) -> Bool {
    guard let method else { return false }
    return methods[method]
  }

  /// - Parameter applicationID: empty for what is about all of them, or none.
  func include(application applicationID: String) -> Bool {
    guard let applications else { return true }
    return applications.contains(ExactText(applicationID))
  }
}

/// The callers of one configuration.
final class Authorization: Sendable {
  enum Identification: Sendable {
    case caller(CallerGrants)
    case refused(AccessRefusal)
  }

  /// What a caller may show beside a certificate.
  enum ShownKey: Sendable {
    case none
    case malformed
    case digest(CallerKeyDigest)
  }

  /// What is known of a peer before it says anything, for all of its connection's calls.
  struct PeerStanding: Sendable {
    /// Others may read along: a key in here is lost.
    fileprivate let isReadable: Bool
    /// Without a key.
    fileprivate let identification: Identification
    /// It has a certificate, so that a key has to be the same caller's.
    fileprivate let hasCertificate: Bool
  }

  /// Whether keys are looked at: where there are no callers, nobody has one.
  let takesKeys: Bool
  private let keys: [(digest: CallerKeyDigest, grants: CallerGrants)]
  private let certificates: [ExactText: [CallerGrants]]
  private let byPath: [CallerByPath: CallerGrants]

  /// - Parameter callers: `nil`: there is no such section, and whoever is on this machine may do everything.
  init(_ callers: [CallerDefinition]?) {
    takesKeys = callers != nil
    let all = (callers ?? [.everythingForLocal]).map { (definition: $0, grants: CallerGrants($0)) }
    keys = all.flatMap { caller in caller.definition.keys.map { ($0, caller.grants) } }
    var certificates: [ExactText: [CallerGrants]] = [:]
    for caller in all {
      guard let name = caller.definition.certificateName else { continue }
      certificates[PeerNames.key(of: name), default: []].append(caller.grants)
    }
    self.certificates = certificates
    var byPath: [CallerByPath: CallerGrants] = [:]
    for caller in all {
      if let path = CallerByPath(rawValue: caller.definition.name) { byPath[path] = caller.grants }
    }
    self.byPath = byPath
  }

  func standing(of peer: RPCPeer) -> PeerStanding {
    let isReadable = !peer.isEncrypted && !peer.address.isLocal
    guard let certificate = peer.certificate else {
      let path: CallerByPath? = peer.isEncrypted ? nil : isReadable ? .plaintext : .local
      let grants = path.flatMap { byPath[$0] }
      return PeerStanding(
        isReadable: isReadable, identification: grants.map { .caller($0) } ?? .refused(.credentialsMissing),
        hasCertificate: false)
    }
    return PeerStanding(isReadable: isReadable, identification: identify(certificate), hasCertificate: true)
  }

  func identify(_ standing: PeerStanding, _ key: ShownKey) -> Identification {
    guard takesKeys else { return standing.identification }
    switch key {
    case .none:
      return standing.identification
    case .malformed:
      return .refused(.keyMalformed)
    case .digest where standing.isReadable:
      return .refused(.keyInPlaintext)
    case .digest(let digest):
      return identify(standing, grants(of: digest))
    }
  }

  /// - Parameter grants: of the key's caller.
  private func identify(_ standing: PeerStanding, _ grants: CallerGrants?) -> Identification {
    guard let grants else { return .refused(.keyUnknown) }
    guard standing.hasCertificate else { return .caller(grants) }
    switch standing.identification {
    case .refused: return standing.identification
    case .caller(let other): return other === grants ? .caller(grants) : .refused(.credentialsDiffer)
    }
  }

  /// Looks at all of them, and takes as long whichever it is.
  private func grants(of digest: CallerKeyDigest) -> CallerGrants? {
    var found = -1
    for index in keys.indices {
      let mask = keys[index].digest.isEqual(to: digest) ? -1 : 0
      found = (index & mask) | (found & ~mask)
    }
    return found < 0 ? nil : keys[found].grants
  }

  private func identify(_ certificate: RPCPeerCertificate) -> Identification {
    let names = PeerNames(certificate)
    guard names.spiffeIDs <= 1 else { return .refused(.certificateAmbiguous) }
    var found: CallerGrants?
    for name in names.keys {
      for grants in certificates[name] ?? [] where grants !== found {
        guard found == nil else { return .refused(.certificateAmbiguous) }
        found = grants
      }
    }
    return found.map { .caller($0) } ?? .refused(.certificateUnknown)
  }
}

/// The names in a certificate, as callers are looked up by them: each with its kind before it, so that a common name is
/// never taken for a host's.
///
/// A SPIFFE ID is the only name of a certificate that has one: the other names are then whatever the workload asked its issuer for.
/// A common name counts only in a certificate without subject alternative names (RFC 9525, section 2).
struct PeerNames {
  static let spiffeScheme = "spiffe://"

  let keys: [ExactText]
  let spiffeIDs: Int

  init(_ certificate: RPCPeerCertificate) {
    let ids = certificate.uris.filter(Self.isSPIFFE)
    spiffeIDs = ids.count
    keys = Self.names(of: certificate, ids).map(Self.key)
  }

  private static func names(of certificate: RPCPeerCertificate, _ ids: [String]) -> [CertificateName] {
    if !ids.isEmpty { return ids.map { .spiffe($0) } }
    if certificate.hasAlternativeNames { return certificate.dnsNames.map { .dns($0) } }
    return certificate.commonName.map { [.commonName($0)] } ?? []
  }

  static func key(of name: CertificateName) -> ExactText {
    switch name {
    case .spiffe(let id): ExactText("uri \(id)")
    case .dns(let name): ExactText("dns \(name)")
    case .commonName(let name): ExactText("cn \(name)")
    }
  }

  /// A scheme is the same in capitals (RFC 3986, section 3.1), and must not hide a second ID.
  private static func isSPIFFE(_ uri: String) -> Bool {
    uri.utf8.prefix(spiffeScheme.utf8.count).map { $0 | 0x20 }.starts(with: spiffeScheme.utf8.map { $0 | 0x20 })
  }
}

/// A text that is equal to its own bytes alone: as a key, a `String` is also found by another spelling of it.
struct ExactText: Hashable, Sendable {
  private let text: String

  init(_ text: String) {
    self.text = text
  }

  static func == (left: ExactText, right: ExactText) -> Bool {
    Identifier.areEqual(left.text, right.text)
  }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}

extension CallerDefinition {
  /// Where there are no callers: nobody has to configure anything to try it on their own machine.
  fileprivate static let everythingForLocal: CallerDefinition = {
    var definition = CallerDefinition(name: CallerByPath.local.rawValue)
    definition.applications = .all
    definition.methods = [.all]
    return definition
  }()
}
