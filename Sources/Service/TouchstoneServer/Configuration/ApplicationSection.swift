// `applications:` of the configuration: what each application demands of the proofs of its keys, and what it allows.

internal import SettingFiles
internal import TouchstoneAttestation
internal import TouchstoneService

enum ApplicationSection {
  /// Enough for every product of a company.
  static let maximumApplications = 1_000

  static func read(
    _ entry: YAMLEntry, _ name: String, with reader: inout SettingReader
  ) -> [String: AttestationRequirements] {
    var applications: [String: AttestationRequirements] = [:]
    for entry in reader.entries(entry.value, name, atMost: maximumApplications) {
      if let reason = ApplicationID.violation(inSetting: entry.key.name) {
        reader.refuse(entry.key.place, "an application \(reason)")
      }
      applications[entry.key.name] = reader.section(entry, "\(name).\(entry.key.name)")
    }
    return applications
  }
}

extension AttestationRequirements: ConfigurationSection {
  init() { self.init(demand: .accepted) }

  static var keysStandAlone: Bool { true }

  static var keys: [ConfigurationKey<AttestationRequirements>] {
    ConfigurationKey("attestation", .word, to: \.demand, "Whether a key needs a proof.")
    ConfigurationKey(
      "minimum_level", .word(AttestationLevel.allCases.map { ($0.name, $0) }), to: \.minimumLevel,
      default: .words("tee on Android; elsewhere app if required, otherwise none"),
      "The level that a proof must reach.")
    ConfigurationKey(
      "app_ids", ProofForms.appIDs, to: \.appIDs, default: .words("App Attest is refused"),
      "The apps of App Attest.")
    ConfigurationKey(
      "environments", .set(of: .word, "an environment", atMost: AppAttestEnvironment.allCases.count),
      to: \.environments,
      default: .words("[production]"), "The environments of App Attest.")
    ConfigurationKey("packages", .packages, to: \.packages, default: .words("any"), "The Android apps.")
    ConfigurationKey(
      "oldest_patch_level", .form("a date such as 2025-11-01", read: { PatchLevel($0) }), to: \.oldestPatchLevel,
      default: .words("any"), "The oldest patch level of an Android phone.")
    ConfigurationKey("encoding", .word, to: \.encoding, "How the bytes of a proof are read.")
    ConfigurationKey(
      "text_signatures", .boolean, to: \.allowsTextSignatures,
      "Whether keys may sign the text of signing_input, as some frameworks do.")
    ConfigurationKey(
      "passkeys", .section(lacksAt: .sectionKey), to: \.passkeys, default: .words("no passkeys"),
      "The relying party of its passkeys.")
  }

  func check(_ written: WrittenSection, with reader: inout SettingReader) {
    func place(_ key: String) -> YAMLPlace { (written.entry(key) ?? written.entry).key.place }
    switch demand {
    case .none:
      // These hold without attestations, too.
      for entry in written.entries where !["attestation", "text_signatures", "passkeys"].contains(entry.key.name) {
        reader.refuse(entry.key.place, "\(entry.key.name) has no effect: attestation is none")
      }
      if passkeys?.aaguids != nil {
        reader.refuse(place("passkeys"), "passkeys.aaguids has no effect: attestation is none")
      }
    case .accepted:
      if let level = minimumLevel, level > .none {
        reader.warn(
          place("minimum_level"), "minimum_level concerns only keys that come with a proof: attestation is accepted")
      }
    case .required:
      if minimumLevel == AttestationLevel.none {
        reader.refuse(place("minimum_level"), "minimum_level cannot be none: attestation is required")
      }
      let accepted = alsoAccepted
      if !accepted.isEmpty {
        reader.warn(
          place("attestation"), "attestation is required; also accepted are \(accepted.joined(separator: "; "))")
      }
      if appIDs.isEmpty {
        reader.warn(place("attestation"), "attestation is required, and App Attest is refused: app_ids names no app")
      }
    }
  }

  /// The proofs that `required` accepts until another setting excludes them.
  private var alsoAccepted: [String] {
    var accepted: [String] = []
    if minimumLevel == .selfAttested {
      accepted.append("keys of software, which vouch for themselves (minimum_level)")
    }
    if environments.contains(.development) { accepted.append("apps in development (environments)") }
    if packages.isEmpty { accepted.append("keys of any Android app (packages)") }
    if oldestPatchLevel == nil {
      accepted.append("Android phones with old patches (oldest_patch_level)")
    }
    return accepted
  }
}

extension ValueForm where Value == [AndroidPackage] {
  fileprivate static var packages: ValueForm {
    ValueForm(.list(.section(AndroidPackage.rows), 1...ProofForms.maximumElements)) { entry, name, reader in
      var packages: [AndroidPackage] = []
      return reader.elements(entry.value, name, atMost: ProofForms.maximumElements) { node, reader in
        guard let package: AndroidPackage = reader.section(YAMLEntry(element: node), "a package") else { return nil }
        if !package.name.isEmpty, packages.contains(where: { $0.name == package.name }) {
          reader.refuse(node.place, "there are two packages \(package.name.debugDescription)")
        }
        packages.append(package)
        return package
      }
    }
  }
}

extension AndroidPackage: ConfigurationSection {
  init() { self.init(name: "", signers: []) }

  static var keysStandAlone: Bool { true }

  static var keys: [ConfigurationKey<AndroidPackage>] {
    ConfigurationKey(
      "name", ProofForms.packageName, to: \.name, isRequired: true, "The package's name.")
    ConfigurationKey(
      "signers", ProofForms.signers, to: \.signers, isRequired: true,
      "The digests of its signing certificates.")
  }
}

extension PasskeyRequirements: ConfigurationSection {
  init() { self.init(rpID: "", origins: []) }

  static var keys: [ConfigurationKey<PasskeyRequirements>] {
    ConfigurationKey("rp_id", ProofForms.rpID, to: \.rpID, isRequired: true, "The relying party's id.")
    ConfigurationKey(
      "origins", ProofForms.origins, to: \.origins, isRequired: true, "The origins of its web pages and apps.")
    ConfigurationKey(
      "top_origins", ProofForms.topOrigins, to: \.topOrigins, default: .words("none"),
      "The origins of other pages that may frame its pages.")
    ConfigurationKey(
      "user_verification", .word([("required", true), ("preferred", false)]), to: \.requiresUserVerification,
      "Whether the authenticator must verify the person.")
    ConfigurationKey(
      "sign_count", .word, to: \.signCount,
      "Whether a sign count that did not grow is refused, or reported for passkeys that may be copied.")
    ConfigurationKey(
      "device_bound", .boolean, to: \.requiresDeviceBoundKeys, "Takes only keys that cannot be copied to other devices."
    )
    ConfigurationKey(
      "aaguids", ProofForms.aaguids, to: \.aaguids, default: .words("any"), "The authenticators' models.")
  }
}
