// Decides which caller a peer is and what it may call. Pure: a peer and its key in, a caller's grants or a refusal out.
// Everything that is not granted is refused, and no refusal depends on stored records.

internal import DispatchRPC
internal import TouchstoneCodec
internal import TouchstoneCrypto
internal import TouchstonePolicy

/// Why a call is refused before its message is read. The names are the reasons in ErrorInfo and in the audit log.
package enum AccessRefusal: String, CaseIterable, Sendable {
  /// Neither a certificate nor a key.
  case credentialsMissing = "CREDENTIALS_MISSING"
  /// The `authorization` is not "Bearer" and a key.
  case keyMalformed = "KEY_MALFORMED"
  case keyUnknown = "KEY_UNKNOWN"
  /// The key came over a connection that others may read.
  case keyInPlaintext = "KEY_IN_PLAINTEXT"
  /// No caller has this certificate.
  case certificateUnknown = "CERTIFICATE_UNKNOWN"
  /// The TLS handshake failed on an address that asks for client certificates. There was no call, so no answer has this
  /// reason.
  case certificateRefused = "CERTIFICATE_REFUSED"
  /// Several callers match the certificate, or it has several SPIFFE IDs.
  case certificateAmbiguous = "CERTIFICATE_AMBIGUOUS"
  /// Certificate and key belong to different callers.
  case credentialsDiffer = "CREDENTIALS_DIFFER"
  /// A sign-in at the console with a wrong name or password. No call's answer has this reason, nor the next ones.
  case operatorPasswordWrong = "OPERATOR_PASSWORD_WRONG"
  /// A sign-in without the account's passkey, or with a wrong one.
  case operatorPasskeyWrong = "OPERATOR_PASSKEY_WRONG"
  /// An identity provider's answer that does not hold.
  case operatorProviderRefused = "OPERATOR_PROVIDER_REFUSED"
  /// An identity provider that does not answer.
  case operatorProviderUnreachable = "OPERATOR_PROVIDER_UNREACHABLE"
  /// The identity provider vouched for a person that no role is for.
  case operatorRoleMissing = "OPERATOR_ROLE_MISSING"
  /// A sign-in while the name, or the client's address, is locked after failures.
  case operatorLocked = "OPERATOR_LOCKED"
  /// A session that this installation never gave out.
  case operatorSessionForged = "OPERATOR_SESSION_FORGED"
  /// A session that came from another address than the one it was given to.
  case operatorSessionMoved = "OPERATOR_SESSION_MOVED"
  /// A form that another site sent, or without the session's token.
  case operatorRequestForged = "OPERATOR_REQUEST_FORGED"
  case methodNotGranted = "METHOD_NOT_GRANTED"
  case applicationNotGranted = "APPLICATION_NOT_GRANTED"

  /// Otherwise the caller is known, and lacks the grant.
  var isUnauthenticated: Bool {
    switch self {
    case .methodNotGranted, .applicationNotGranted: false
    default: true
    }
  }
}

/// The methods and applications that one caller may use.
final class CallerGrants: Sendable {
  let caller: Caller
  /// By a method's number.
  private let methods: [Bool]
  /// `nil`: all but the console's own.
  private let applications: Set<ExactText>?

  /// The rights of a peer that is not identified.
  static let nobody = CallerGrants(CallerDefinition(name: ""))

  init(_ definition: CallerDefinition) {
    caller = Caller(identity: definition.name)
    methods = MethodDescriptor.all.map { method in definition.methods.contains { $0.contains(method) } }
    switch definition.applications {
    case .all: applications = nil
    case .these(let names): applications = Set(names.map(ExactText.init))
    }
  }

  /// - Parameter method: `nil` for a method without a rule.
  func include(_ method: MethodDescriptor.Number?) -> Bool {
    guard let method else { return false }
    return methods[method]
  }

  /// - Parameter applicationID: empty for a call that concerns all applications, or none.
  func include(application applicationID: String) -> Bool {
    guard let applications else { return !Identifier.areEqual(applicationID, ApplicationID.console) }
    return applications.contains(ExactText(applicationID))
  }
}

/// A caller that a part of this process has identified itself, with its grants: a signed-in operator of the console.
/// Nothing that a peer sends makes one.
public final class IdentifiedCaller: Sendable {
  let grants: CallerGrants

  package init(_ definition: CallerDefinition) {
    grants = CallerGrants(definition)
  }

  /// The name in the audit log.
  package var name: String { grants.caller.identity }

  /// Whether it may call the method, in some application.
  package func mayCall(_ path: String) -> Bool { grants.include(MethodDescriptor.number(of: path)) }
}

/// The callers of one configuration.
final class Authorization: Sendable {
  enum Identification: Sendable {
    case caller(CallerGrants)
    case refused(AccessRefusal)
  }

  /// The key that a caller may show beside a certificate.
  enum ShownKey: Sendable {
    case none
    case malformed
    case digest(CallerKeyDigest)
  }

  /// The identity of a peer before its first call. It holds for all calls of the connection.
  struct PeerStanding: Sendable {
    /// Others may read this connection, so a key that came over it must be replaced.
    fileprivate let isReadable: Bool
    /// The identification of a call without a key.
    fileprivate let identification: Identification
    /// The peer has a certificate, so a key must belong to the same caller.
    fileprivate let hasCertificate: Bool
  }

  /// Whether keys are checked. Without `callers:` no caller has one.
  let takesKeys: Bool
  private let keys: [(digest: CallerKeyDigest, grants: CallerGrants)]
  private let certificates: [ExactText: [CallerGrants]]
  private let byPath: [CallerByPath: CallerGrants]

  /// - Parameter callers: `nil`: there is no such section, and every process on this machine may call everything.
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

  func standing(of peer: RPCPeer, isKnownByPlace: Bool = true) -> PeerStanding {
    let isReadable = !peer.isEncrypted && !peer.address.isLocal
    guard let certificate = peer.certificate else {
      let path: CallerByPath? = peer.isEncrypted || !isKnownByPlace ? nil : isReadable ? .plaintext : .local
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

  /// - Parameter grants: the grants of the key's caller.
  private func identify(_ standing: PeerStanding, _ grants: CallerGrants?) -> Identification {
    guard let grants else { return .refused(.keyUnknown) }
    guard standing.hasCertificate else { return .caller(grants) }
    switch standing.identification {
    case .refused: return standing.identification
    case .caller(let other): return other === grants ? .caller(grants) : .refused(.credentialsDiffer)
    }
  }

  /// Compares all of them, so that the time does not show which one matched.
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

/// The names in a certificate, in the form in which callers are looked up: each with its kind before it, so that a
/// common name never matches a host's name.
///
/// If a certificate has a SPIFFE ID, that is its only name: the workload may have chosen the other names itself. A
/// common name counts only in a certificate without subject alternative names (RFC 9525, section 2).
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

  /// Compares the scheme without case (RFC 3986, section 3.1), so that capitals cannot hide a second ID.
  private static func isSPIFFE(_ uri: String) -> Bool {
    uri.utf8.prefix(spiffeScheme.utf8.count).map { $0 | 0x20 }.starts(with: spiffeScheme.utf8.map { $0 | 0x20 })
  }
}

/// A text that equals only the same bytes. A `String` as a key also matches other Unicode spellings.
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
  /// Used without `callers:`, so that the service can be tried on one machine without a configuration.
  fileprivate static let everythingForLocal: CallerDefinition = {
    var definition = CallerDefinition(name: CallerByPath.local.rawValue)
    definition.applications = .all
    definition.methods = [.all]
    return definition
  }()
}
