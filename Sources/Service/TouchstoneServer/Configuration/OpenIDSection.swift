// `console.oidc` of the configuration: the identity provider of operators.

internal import DispatchHTTP
internal import DispatchRPC
internal import SettingFiles
internal import TouchstoneConsole
internal import TouchstoneCrypto
internal import TouchstoneService

struct OpenIDSection: ConfigurationSection, Hashable {
  private(set) var issuer = ""
  private(set) var clientID = ""
  private(set) var clientSecretFile = ""
  private(set) var authorities: String?
  private(set) var privateAddresses: Set<AddressBlock> = []
  private(set) var nameClaim = NameClaim.sub
  private(set) var groupsClaim = "groups"
  private(set) var roles = OpenIDRoles()
  private(set) var applications = ApplicationGrant.these([])

  enum NameClaim: String, CaseIterable, Sendable {
    case sub
    case email
    case preferredUsername = "preferred_username"
  }

  private static let textBytes = 1...256
  private static let maximumNetworks = 16
  /// A random text has some 64 bytes.
  private static let maximumSecretBytes = 1_024
  static let secretSetting = "console.oidc.client_secret_file"
  private static let authoritiesSetting = "console.oidc.authorities"

  static var keys: [ConfigurationKey<OpenIDSection>] {
    ConfigurationKey(
      "issuer", .issuer, to: \.issuer, isRequired: true, "The provider's URL, as its ID tokens name it.")
    ConfigurationKey(
      "client_id", .text(bytes: textBytes), to: \.clientID, isRequired: true, "This console's name at the provider.")
    ConfigurationKey(
      "client_secret_file", .path, to: \.clientSecretFile, isRequired: true,
      "The file with the client's secret, closed to other users.")
    ConfigurationKey(
      "authorities", .path, to: \.authorities, default: .words("those of this machine"),
      "PEM: the authorities of the provider's certificate.")
    ConfigurationKey(
      "private_addresses", .set(of: .network, "an address of private_addresses", atMost: maximumNetworks),
      to: \.privateAddresses,
      default: .words("global addresses alone"), "Networks such as 10.0.0.0/8 in which the provider may be.")
    ConfigurationKey(
      "name_claim", .word, to: \.nameClaim, default: "sub",
      "The claim that names the operator in the audit log, after `operator:oidc:`.")
    ConfigurationKey(
      "groups_claim", .text(bytes: textBytes), to: \.groupsClaim, "The claim that lists the person's groups.")
    ConfigurationKey(
      "roles", .section, to: \.roles, isRequired: true, "The groups that have each role; the highest counts.")
    ConfigurationKey(
      "applications", .applications, to: \.applications, isRequired: true, "The applications that these operators see.")
  }

  /// Reads the files.
  func load(_ configuration: ProcessConfiguration) throws(Failure) -> OpenIDSettings {
    let secret: [UInt8]
    do throws(FileError) {
      let bytes = try readFile(clientSecretFile, maximumBytes: Self.maximumSecretBytes, from: .ownersOnly)
      guard !isReadableByOthers(clientSecretFile) else {
        throw FileError(message: "can be read by other users: take their permissions away")
      }
      secret = Array(bytes.prefix { $0 != 0x0A && $0 != 0x0D })
      guard !secret.isEmpty else { throw FileError(message: "has no secret in its first line") }
    } catch {
      throw configuration.failure(of: Self.secretSetting, at: clientSecretFile, error.message)
    }
    do throws(RPCTLSError) {
      let client = try HTTPSClient(
        authorities: authorities.map { .file($0) } ?? .system, listed: Array(privateAddresses))
      return OpenIDSettings(
        issuer: issuer, clientID: clientID, clientSecret: SecretBytes(secret), nameClaim: nameClaim.rawValue,
        groupsClaim: groupsClaim, groups: roles.groups, applications: applications, client: client)
    } catch {
      throw configuration.failure(of: Self.authoritiesSetting, at: authorities ?? "", error.reason)
    }
  }
}

struct OpenIDRoles: ConfigurationSection, Hashable {
  private var read: Set<String> = []
  private var support: Set<String> = []
  private var admin: Set<String> = []

  var groups: [OperatorRole: Set<String>] { [.read: read, .support: support, .admin: admin] }

  static var keys: [ConfigurationKey<OpenIDRoles>] {
    ConfigurationKey("read", .groups, to: \.read, default: .words("none"), "Groups whose members look.")
    ConfigurationKey("support", .groups, to: \.support, default: .words("none"), "Groups that also unlock and revoke.")
    ConfigurationKey("admin", .groups, to: \.admin, default: .words("none"), "Groups that also erase.")
  }

  func check(_ written: WrittenSection, with reader: inout SettingReader) {
    if written.entries.isEmpty { reader.refuse(written.entry.value.place, "\(written.name) needs a group") }
  }

  /// More than a company has for one console.
  fileprivate static let maximumGroups = 64
}

extension ValueForm where Value == Set<String> {
  fileprivate static var groups: ValueForm {
    .set(of: .text(bytes: 1...256), "a group", atMost: OpenIDRoles.maximumGroups)
  }
}

extension ValueForm where Value == String {
  /// Without a query: the path of its description is appended.
  fileprivate static var issuer: ValueForm {
    .form("an https URL without a query") { text in HTTPSURL(text) != nil && !text.contains("?") ? text : nil }
  }
}

extension ValueForm where Value == AddressBlock {
  fileprivate static var network: ValueForm {
    .form("a network such as 10.0.0.0/8") { AddressBlock($0) }
  }
}
