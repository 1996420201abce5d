// Who may call, as a configuration says it.

public import TouchstoneCrypto
internal import TouchstonePolicy

/// One caller: by what it is known, and what it is granted. What is not said is not granted.
public struct CallerDefinition: Sendable {
  /// Stands in the audit log. What is sealed for one caller opens for no other, so that a name given to another service
  /// later gives it what was begun under the name.
  public var name: String
  /// One at most, so that nobody has to think about which counts.
  public var certificateName: CertificateName?
  /// Several, so that a key can be replaced while both serve.
  public var keys: [CallerKeyDigest] = []
  public var applications: ApplicationGrant = .these([])
  public var methods: [MethodGrant] = []

  public init(name: String) {
    self.name = name
  }

  /// Longer ones are no help to whoever reads the audit log.
  public static let maximumNameBytes = 64

  /// Why the text cannot name a caller, to go behind the field's name; `nil` where it can. ASCII, so that no two names look
  /// alike.
  public static func violation(inName name: String) -> String? {
    guard (1...maximumNameBytes).contains(name.utf8.count), name.utf8.allSatisfy(isNameCharacter) else {
      return "must be 1 to \(maximumNameBytes) letters, digits, and . _ -"
    }
    // In any case of its letters: who reads the log tells no such names apart.
    let name = name.lowercased()
    if name == Caller.unknownName { return "cannot be \"\(name)\": the audit log calls so a caller that nobody knows" }
    if name == operatorName { return "cannot be \"\(name)\": the audit log calls so who works at the service itself" }
    return nil
  }

  /// In events of the stores and of commands.
  private static let operatorName = "operator"

  private static func isNameCharacter(_ byte: UInt8) -> Bool {
    isLetterOrDigit(byte) || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains(byte)
  }

  fileprivate static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}

/// Callers who are known by how they come, and by nothing that they show. Their names are not for others.
public enum CallerByPath: String, Sendable, CaseIterable {
  /// Plaintext from this machine: loopback or a Unix socket.
  case local
  /// Plaintext from beyond it, which only a flag lets in.
  case plaintext
}

/// The applications that a caller may name.
public enum ApplicationGrant: Sendable {
  /// Also those that nobody thought of yet, and what is about none.
  case all
  case these([String])
}

/// The one name in a certificate that a caller is known by.
public enum CertificateName: Sendable {
  /// A subject alternative name of the kind URI: `spiffe://trust.domain/path`.
  case spiffe(String)
  /// A subject alternative name of the kind DNS, in a certificate without a SPIFFE ID.
  case dns(String)
  /// Of a certificate without subject alternative names.
  case commonName(String)

  /// SPIFFE-ID, section 2.3.
  private static let maximumSPIFFEBytes = 2_048
  /// RFC 1035, section 2.3.4, less the root's.
  private static let maximumDNSBytes = 253
  /// RFC 5280, appendix A.1: ub-common-name.
  private static let maximumCommonNameCharacters = 64

  public func isSame(as other: CertificateName) -> Bool {
    PeerNames.key(of: self) == PeerNames.key(of: other)
  }

  /// Why no certificate can have it, to go behind the field's name; `nil` where one can.
  public var violation: String? {
    switch self {
    case .spiffe(let id): Self.isSPIFFE(id) ? nil : "must be spiffe://TRUST.DOMAIN/PATH"
    case .dns(let name): Self.isDNSName(name) ? nil : "must be a host's full name in lower case, without wildcards"
    case .commonName(let name):
      name.unicodeScalars.count > Self.maximumCommonNameCharacters || Identifier.violation(in: name) != nil
        ? "must be 1 to \(Self.maximumCommonNameCharacters) characters" : nil
    }
  }

  /// In the one spelling that SPIFFE allows, since it is compared byte for byte (SPIFFE-ID, section 2).
  private static func isSPIFFE(_ id: String) -> Bool {
    guard id.utf8.count <= maximumSPIFFEBytes, id.utf8.starts(with: PeerNames.spiffeScheme.utf8) else { return false }
    let parts = id.utf8.dropFirst(PeerNames.spiffeScheme.utf8.count)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let allowed = { (byte: UInt8) in
      CallerDefinition.isLetterOrDigit(byte) || ".-_".utf8.contains(byte)
    }
    guard let domain = parts.first, !domain.isEmpty, domain.allSatisfy({ allowed($0) && !isUpperCase($0) }) else {
      return false
    }
    return parts.dropFirst().allSatisfy { part in
      !part.isEmpty && part.allSatisfy(allowed) && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
    }
  }

  private static func isDNSName(_ name: String) -> Bool {
    guard (1...maximumDNSBytes).contains(name.utf8.count) else { return false }
    return name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
      (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
        && label.allSatisfy { byte in
          (CallerDefinition.isLetterOrDigit(byte) && !isUpperCase(byte)) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
        }
    }
  }

  private static func isUpperCase(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }
}
