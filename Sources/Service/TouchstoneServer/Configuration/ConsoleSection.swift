// `console:` of the configuration: how operators sign in.

internal import DispatchHTTP
internal import SettingFiles
internal import TouchstoneAttestation
internal import TouchstoneConsole

struct ConsoleSection: ConfigurationSection, Hashable {
  var signIn = SignInRule.password
  var openID: OpenIDSection?

  static var keys: [ConfigurationKey<ConsoleSection>] {
    ConfigurationKey(
      "sign_in", .word, to: \.signIn, default: "password",
      "How operators sign in ([SUPPORT.md](SUPPORT.md#sign-in)). Passkeys need `console_url`.")
    ConfigurationKey(
      "oidc", .section(lacksAt: .sectionKey), to: \.openID,
      "The identity provider that signs operators in, beside those of `operators`. Needs `console_url`.")
  }

  func check(_ entry: YAMLEntry, _ url: ConsoleURL?, with reader: inout SettingReader) {
    if openID != nil, url == nil {
      reader.refuse(entry.key.place, "console.oidc needs console_url, to which the provider sends browsers back")
    }
    if signIn != .password, url?.passkeys == nil {
      reader.refuse(
        entry.key.place,
        "console.sign_in \(signIn.rawValue) needs console_url with a host's name: passkeys are of a name")
    }
  }
}

extension ConsoleURL {
  /// The relying party at this URL; `nil`: an address has no passkeys.
  var passkeys: PasskeyRequirements? {
    guard !authority.isAddress || authority.host == "localhost" else { return nil }
    let port = authority.port.flatMap { $0 == scheme.port ? nil : ":\($0)" } ?? ""
    return PasskeyRequirements(rpID: authority.host, origins: ["\(scheme.rawValue)://\(authority.host)\(port)"])
  }
}
