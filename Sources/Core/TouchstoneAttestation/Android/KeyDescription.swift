internal import Encodings

/// The description of a key by Android's keystore, in an extension of the key's certificate (Android, "Key attestation
/// extension data schema").
package struct KeyDescription: Sendable {
  package static let extensionID = "1.3.6.1.4.1.11129.2.1.17"

  package let version: Int
  package let attestationLevel: SecurityLevel
  package let keyMintVersion: Int
  package let keyMintLevel: SecurityLevel
  package let challenge: [UInt8]
  /// The operating system's list.
  package let software: Authorizations
  /// The list of the TEE or StrongBox.
  package let hardware: Authorizations

  package enum SecurityLevel: Int, Sendable, Hashable {
    case software = 0
    case trustedEnvironment = 1
    case strongBox = 2
  }

  /// The versions of Keymaster 2 to 4.1, and of KeyMint 1 to 5.
  private static let versions: Set<Int> = [1, 2, 3, 4, 100, 200, 300, 400, 500]

  /// Eight fields; later versions may add some.
  private static let fieldCount = 8

  package init(_ bytes: [UInt8], _ encoding: ProofEncoding = .strict) throws(ProofError) {
    let fields = try DERNode(bytes, or: .malformedKeyDescription, encoding).sequence()
    guard fields.count >= Self.fieldCount else { throw ProofError(.malformedKeyDescription, "\(fields.count) fields") }
    version = try fields[0].integer()
    guard Self.versions.contains(version) else {
      throw ProofError(.unsupportedFormat, "attestation version \(version)")
    }
    attestationLevel = try Self.level(fields[1])
    keyMintVersion = try fields[2].integer()
    keyMintLevel = try Self.level(fields[3])
    challenge = try fields[4].octets()
    software = try Authorizations(fields[6])
    hardware = try Authorizations(fields[7])
  }

  private static func level(_ field: DERNode) throws(ProofError) -> SecurityLevel {
    let number = try field.enumerated()
    guard let level = SecurityLevel(rawValue: number) else {
      throw ProofError(.malformedKeyDescription, "security level \(number)")
    }
    return level
  }
}

/// An AuthorizationList: what a service decides by. Other tags are ignored, as the schema grows.
package struct Authorizations: Sendable {
  package private(set) var purposes: Set<Int> = []
  package private(set) var needsNoAuthentication = false
  /// Bits: 1 password, 2 biometrics.
  package private(set) var authenticators: Int?
  /// Seconds; `nil`: each use needs it.
  package private(set) var authenticationTimeout: Int?
  /// The timeout does not count while the phone is worn.
  package private(set) var outlastsTimeoutOnBody = false
  package private(set) var isForAllApplications = false
  package private(set) var origin: Int?
  package private(set) var rootOfTrust: RootOfTrust?
  package private(set) var osVersion: Int?
  /// YYYYMM, or YYYYMMDD.
  package private(set) var osPatchLevel: Int?
  package private(set) var vendorPatchLevel: Int?
  package private(set) var bootPatchLevel: Int?
  package private(set) var application: AttestedApplication?

  /// KeyMint's numbers (android.hardware.security.keymint).
  package enum Number {
    package static let purposeSign = 2
    package static let originGenerated = 0
    package static let password = 1
    package static let biometrics = 2
  }

  private enum Tag {
    static let purpose: UInt = 1
    static let noAuthRequired: UInt = 503
    static let userAuthType: UInt = 504
    static let authTimeout: UInt = 505
    static let allowWhileOnBody: UInt = 506
    static let allApplications: UInt = 600
    static let origin: UInt = 702
    static let rootOfTrust: UInt = 704
    static let osVersion: UInt = 705
    static let osPatchLevel: UInt = 706
    static let attestationApplicationID: UInt = 709
    static let vendorPatchLevel: UInt = 718
    static let bootPatchLevel: UInt = 719
  }

  init(_ list: DERNode) throws(ProofError) {
    var seen: Set<UInt> = []
    for field in try list.sequence() {
      guard let tag = field.tag else { throw list.malformed("an authorization without a tag") }
      guard seen.insert(tag).inserted else { throw list.malformed("authorization \(tag) twice") }
      try take(tag, field)
    }
  }

  private mutating func take(_ tag: UInt, _ field: DERNode) throws(ProofError) {
    switch tag {
    case Tag.purpose:
      for purpose in try field.tagged().set() { purposes.insert(try purpose.integer()) }
    case Tag.noAuthRequired: needsNoAuthentication = true
    case Tag.userAuthType: authenticators = try field.tagged().integer()
    case Tag.allowWhileOnBody: outlastsTimeoutOnBody = true
    case Tag.authTimeout: authenticationTimeout = try field.tagged().integer()
    case Tag.allApplications: isForAllApplications = true
    case Tag.origin: origin = try field.tagged().integer()
    case Tag.rootOfTrust: rootOfTrust = try RootOfTrust(field.tagged())
    case Tag.osVersion: osVersion = try field.tagged().integer()
    case Tag.osPatchLevel: osPatchLevel = try field.tagged().integer()
    case Tag.attestationApplicationID: application = try AttestedApplication(field.tagged().octets())
    case Tag.vendorPatchLevel: vendorPatchLevel = try field.tagged().integer()
    case Tag.bootPatchLevel: bootPatchLevel = try field.tagged().integer()
    default: break
    }
  }
}

package struct RootOfTrust: Sendable, Hashable {
  package let isLocked: Bool
  package let bootState: BootState

  package enum BootState: Int, Sendable, Hashable {
    case verified = 0
    case selfSigned = 1
    case unverified = 2
    case failed = 3

    package var name: String {
      switch self {
      case .verified: "verified"
      case .selfSigned: "self_signed"
      case .unverified: "unverified"
      case .failed: "failed"
      }
    }
  }

  init(_ node: DERNode) throws(ProofError) {
    let fields = try node.sequence()
    guard fields.count >= 3 else { throw node.malformed("rootOfTrust has \(fields.count) fields") }
    isLocked = try fields[1].boolean()
    let number = try fields[2].enumerated()
    guard let state = BootState(rawValue: number) else { throw node.malformed("boot state \(number)") }
    bootState = state
  }
}

/// Which app's key it is: its packages, and the SHA-256 of its signers' certificates.
package struct AttestedApplication: Sendable, Hashable {
  package let packages: [String]
  package let signers: [[UInt8]]

  init(_ bytes: [UInt8]) throws(ProofError) {
    let fields = try DERNode(bytes, or: .malformedKeyDescription).sequence()
    guard fields.count >= 2 else { throw ProofError(.malformedKeyDescription, "attestationApplicationId") }
    var packages: [String] = []
    for package in try fields[0].set() {
      let parts = try package.sequence()
      guard let name = try parts.first?.octets(), Self.isName(name) else {
        throw ProofError(.malformedKeyDescription, "a package's name")
      }
      packages.append(String(decoding: name, as: UTF8.self))
    }
    var signers: [[UInt8]] = []
    for signer in try fields[1].set() { signers.append(try signer.octets()) }
    self.packages = packages
    self.signers = signers
  }

  /// Android's are ASCII, and of this length at most.
  private static func isName(_ bytes: [UInt8]) -> Bool {
    1...255 ~= bytes.count && bytes.allSatisfy { $0.isASCIILetterOrDigit || "_.".utf8.contains($0) }
  }
}
