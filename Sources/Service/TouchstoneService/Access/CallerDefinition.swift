// The callers and their grants, as the configuration has them, and the names that applications may have.

internal import Encodings
public import TouchstoneCrypto
internal import TouchstonePolicy

/// One caller: how the service identifies it, and its grants. Everything else is refused.
public struct CallerDefinition: Sendable {
  /// The name in the audit log. Content that is sealed for one caller opens for no other. If the name is given to
  /// another service later, that service can finish evaluations and bindings that were begun under the name.
  public var name: String
  /// One at most, so that it is always clear which name counts.
  public var certificateName: CertificateName?
  /// Several, so that a key can be replaced while both are accepted.
  public var keys: [CallerKeyDigest] = []
  public var applications: ApplicationGrant = .these([])
  public var methods: [MethodGrant] = []

  public init(name: String) {
    self.name = name
  }

  /// Longer names make the audit log hard to read.
  public static let maximumNameBytes = 64

  /// Returns why the text cannot name a caller, in words that follow the field's name; `nil` if it can. Names are
  /// ASCII, so that no two names look alike.
  public static func violation(inName name: String) -> String? {
    guard (1...maximumNameBytes).contains(name.utf8.count), name.utf8.allSatisfy(isNameCharacter) else {
      return "must be 1 to \(maximumNameBytes) letters, digits, and . _ -"
    }
    // Without case, because a reader of the log would confuse such names.
    let name = name.lowercased()
    if name == Caller.unknownName { return "cannot be \"\(name)\": the audit log uses it for unidentified callers" }
    if name == operatorName { return "cannot be \"\(name)\": the audit log uses it for the service's operator" }
    return nil
  }

  /// The caller in events of the stores and of commands.
  private static let operatorName = "operator"

  private static func isNameCharacter(_ byte: UInt8) -> Bool {
    byte.isASCIILetterOrDigit || "._-".utf8.contains(byte)
  }
}

extension CallerDefinition {
  /// An operator of the console. No caller of the configuration can have such a name, because none has a colon.
  package init(operator name: String, applications: ApplicationGrant, methods: [MethodGrant]) {
    self.init(name: Caller(operator: name).identity)
    self.applications = applications
    self.methods = methods
  }
}

extension Caller {
  private static let operatorPrefix = "operator:"

  init(operator name: String) {
    self.init(identity: Self.operatorPrefix + name)
  }

  static func isOperator(_ identity: String) -> Bool { identity.hasPrefix(operatorPrefix) }
}

/// Callers that the service identifies by their connection, without certificate or key. No other caller may have their
/// names.
public enum CallerByPath: String, Sendable, CaseIterable {
  /// Plaintext from this machine, by loopback or a Unix socket.
  case local
  /// Plaintext from other machines, which only `--allow-plaintext` accepts.
  case plaintext
}

/// The applications that a caller may name.
public enum ApplicationGrant: Sendable, Hashable {
  /// All applications, future ones too, and calls that concern none.
  case all
  case these([String])
}

/// The name in a certificate that identifies a caller.
public enum CertificateName: Sendable {
  /// A subject alternative name of the kind URI: `spiffe://trust.domain/path`.
  case spiffe(String)
  /// A subject alternative name of the kind DNS, in a certificate without a SPIFFE ID.
  case dns(String)
  /// The common name, in a certificate without subject alternative names.
  case commonName(String)

  /// SPIFFE-ID, section 2.3.
  private static let maximumSPIFFEBytes = 2_048
  /// RFC 5280, appendix A.1: ub-common-name.
  private static let maximumCommonNameCharacters = 64

  public func isSame(as other: CertificateName) -> Bool {
    PeerNames.key(of: self) == PeerNames.key(of: other)
  }

  /// Returns why no certificate can have this name, in words that follow the field's name; `nil` if one can.
  public var violation: String? {
    switch self {
    case .spiffe(let id): Self.isSPIFFE(id) ? nil : "must be spiffe://TRUST.DOMAIN/PATH"
    case .dns(let name):
      HostName.isValid(name, with: "-_") ? nil : "must be a host's full name in lower case, without wildcards"
    case .commonName(let name):
      name.unicodeScalars.count > Self.maximumCommonNameCharacters || Identifier.violation(in: name) != nil
        ? "must be 1 to \(Self.maximumCommonNameCharacters) characters" : nil
    }
  }

  /// Accepts only the spelling that SPIFFE allows, because names are compared byte for byte (SPIFFE-ID, section 2).
  private static func isSPIFFE(_ id: String) -> Bool {
    guard id.utf8.count <= maximumSPIFFEBytes, id.utf8.starts(with: PeerNames.spiffeScheme.utf8) else { return false }
    let parts = id.utf8.dropFirst(PeerNames.spiffeScheme.utf8.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let allowed = { (byte: UInt8) in byte.isASCIILetterOrDigit || ".-_".utf8.contains(byte) }
    guard let domain = parts.first, !domain.isEmpty, domain.allSatisfy({ allowed($0) && !$0.isASCIIUppercase }) else {
      return false
    }
    return parts.dropFirst().allSatisfy { part in
      !part.isEmpty && part.allSatisfy(allowed) && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
    }
  }
}

/// The rules for application ids: in requests, and in a configuration's callers and vendors.
public enum ApplicationID {
  /// Returns what is wrong with the id, in words that follow the field's name ("is empty"); `nil` if nothing is.
  public static func violation(in id: String) -> String? {
    Identifier.violation(in: id) ?? TokenUse.violation(inApplicationID: id)
  }

  /// The console's own. Only calls of the console in this process may be about it.
  package static let console = "touchstone.console"

  /// As `violation(in:)`, for a configuration, which cannot name the console's.
  package static func violation(inSetting id: String) -> String? {
    violation(in: id)
      ?? (Identifier.areEqual(id, console) ? "cannot be \"\(console)\", which is the console's own" : nil)
  }
}

/// A host's full name in lower case, as certificates and browsers write it (RFC 1035, section 2.3.4).
package enum HostName {
  /// Without the root's bytes.
  private static let maximumBytes = 253
  private static let labelBytes = 1...63

  /// - Parameter others: the characters that a label may have beside letters and digits.
  package static func isValid(_ name: String, with others: String) -> Bool {
    guard name.utf8.count <= maximumBytes else { return false }
    return name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
      labelBytes.contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
        && label.allSatisfy { ($0.isASCIILetterOrDigit && !$0.isASCIIUppercase) || others.utf8.contains($0) }
    }
  }
}
