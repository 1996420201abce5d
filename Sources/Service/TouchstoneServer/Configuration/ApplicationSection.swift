// `applications:` of the configuration: what each application demands of the proofs of its keys.

internal import SettingFiles
internal import TouchstoneAttestation
internal import TouchstoneService

struct ApplicationSection {
  enum Key: String, CaseIterable {
    case attestation
    case minimumLevel = "minimum_level"
    case appIDs = "app_ids"
    case environments
    case packages
    case oldestPatchLevel = "oldest_patch_level"
    case encoding
    case passkeys
  }

  /// In the file's order.
  private(set) var applications: [(id: String, requirements: AttestationRequirements)] = []

  /// Enough for every product of a company.
  static let maximumApplications = 1_000

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    let entries = reader.mapping(node, "applications") ?? []
    if entries.count > Self.maximumApplications {
      reader.refuse(node.place, "applications must be at most \(Self.maximumApplications)")
    }
    for entry in entries.prefix(Self.maximumApplications) {
      if let reason = ApplicationID.violation(in: entry.key.name) {
        reader.refuse(entry.key.place, "an application \(reason)")
      }
      let requirements = Self.readApplication(entry, with: &reader)
      if let requirements { applications.append((entry.key.name, requirements)) }
    }
  }

  // MARK: One application

  private static func readApplication(
    _ application: YAMLEntry, with reader: inout SettingReader
  ) -> AttestationRequirements? {
    let name = "applications.\(application.key.name)"
    guard let entries = reader.mapping(application.value, name, of: Key.names) else { return nil }
    var requirements = AttestationRequirements()
    for entry in entries { read(entry, into: &requirements, with: &reader) }
    compare(requirements, entries, application.key, &reader)
    return requirements
  }

  private static func read(
    _ entry: YAMLEntry, into requirements: inout AttestationRequirements, with reader: inout SettingReader
  ) {
    let (name, node) = (entry.key.name, entry.value)
    switch Key(rawValue: name) {
    case .attestation:
      let words = AttestationRequirements.Demand.allCases.map { ($0.rawValue, $0) }
      if let demand = reader.word(node, name, among: words) { requirements.demand = demand }
    case .minimumLevel:
      requirements.minimumLevel = reader.word(node, name, among: AttestationLevel.allCases.map { ($0.name, $0) })
    case .appIDs:
      requirements.appIDs = Set(reader.texts(node, name, ProofForms.appID))
    case .environments:
      let environments = reader.elements(node, name, atMost: AppAttestEnvironment.allCases.count) { node, reader in
        reader.word(node, "an environment", among: AppAttestEnvironment.allCases.map { ($0.rawValue, $0) })
      }
      if let environments { requirements.environments = Set(environments) }
    case .packages:
      requirements.packages = PackageSettings.read(node, name, with: &reader)
    case .oldestPatchLevel:
      guard let text = reader.text(node, name) else { break }
      requirements.oldestPatchLevel = PatchLevel(text)
      if requirements.oldestPatchLevel == nil { reader.refuse(node.place, "\(name) must be a date such as 2025-11-01") }
    case .encoding:
      let words = ProofEncoding.allCases.map { ($0.rawValue, $0) }
      if let encoding = reader.word(node, name, among: words) { requirements.encoding = encoding }
    case .passkeys:
      requirements.passkeys = PasskeySettings.read(entry, with: &reader)
    case nil: break
    }
  }

  // MARK: Settings beside each other

  private static func compare(
    _ requirements: AttestationRequirements, _ entries: [YAMLEntry], _ application: YAMLKey,
    _ reader: inout SettingReader
  ) {
    func place(_ key: Key) -> YAMLPlace {
      entries.first { $0.key.name == key.rawValue }?.key.place ?? application.place
    }
    switch requirements.demand {
    case .none:
      // Passkeys are served without attestations, too.
      for entry in entries where ![Key.attestation, .passkeys].map(\.rawValue).contains(entry.key.name) {
        reader.refuse(entry.key.place, "\(entry.key.name) has no effect: attestation is none")
      }
      if requirements.passkeys?.aaguids != nil {
        reader.refuse(place(.passkeys), "passkeys.aaguids has no effect: attestation is none")
      }
    case .accepted:
      if let level = requirements.minimumLevel, level > .none {
        reader.warn(
          place(.minimumLevel), "minimum_level concerns only keys that come with a proof: attestation is accepted")
      }
    case .required:
      if requirements.minimumLevel == AttestationLevel.none {
        reader.refuse(place(.minimumLevel), "minimum_level cannot be none: attestation is required")
      }
      let accepted = alsoAccepted(requirements)
      if !accepted.isEmpty {
        reader.warn(
          place(.attestation), "attestation is required; also accepted are \(accepted.joined(separator: "; "))")
      }
      if requirements.appIDs.isEmpty {
        reader.warn(place(.attestation), "attestation is required, and App Attest is refused: app_ids names no app")
      }
    }
  }

  /// Returns the proofs that `required` accepts until another setting excludes them.
  private static func alsoAccepted(_ requirements: AttestationRequirements) -> [String] {
    var accepted: [String] = []
    if requirements.minimumLevel == .selfAttested {
      accepted.append("keys of software, which vouch for themselves (minimum_level)")
    }
    if requirements.environments.contains(.development) { accepted.append("apps in development (environments)") }
    if requirements.packages.isEmpty { accepted.append("keys of any Android app (packages)") }
    if requirements.oldestPatchLevel == nil {
      accepted.append("Android phones with old patches (oldest_patch_level)")
    }
    return accepted
  }
}

/// `packages:` of an application.
enum PackageSettings {
  enum Key: String, CaseIterable {
    case name
    case signers
  }

  static func read(_ node: YAMLNode, _ name: String, with reader: inout SettingReader) -> [AndroidPackage] {
    var packages: [AndroidPackage] = []
    _ = reader.elements(node, name, atMost: ProofForms.maximumElements) { node, reader in
      guard let package = readPackage(node, with: &reader) else { return nil as AndroidPackage? }
      if !package.name.isEmpty, packages.contains(where: { $0.name == package.name }) {
        reader.refuse(node.place, "there are two packages \(package.name.debugDescription)")
      }
      packages.append(package)
      return package
    }
    return packages
  }

  private static func readPackage(_ node: YAMLNode, with reader: inout SettingReader) -> AndroidPackage? {
    guard let entries = reader.mapping(node, "a package", of: Key.names) else { return nil }
    var package = AndroidPackage(name: "", signers: [])
    for key in Key.allCases {
      guard let entry = entries.first(where: { $0.key.name == key.rawValue }) else {
        reader.refuse(node.place, "a package needs \(key.rawValue)")
        continue
      }
      switch key {
      case .name: package.name = reader.text(entry.value, ProofForms.packageName) ?? ""
      case .signers: package.signers = Set(reader.texts(entry.value, key.rawValue, ProofForms.signer))
      }
    }
    return package
  }
}

/// `passkeys:` of an application.
enum PasskeySettings {
  enum Key: String, CaseIterable {
    case rpID = "rp_id"
    case origins
    case topOrigins = "top_origins"
    case userVerification = "user_verification"
    case signCount = "sign_count"
    case deviceBound = "device_bound"
    case aaguids
  }

  static func read(_ section: YAMLEntry, with reader: inout SettingReader) -> PasskeyRequirements? {
    guard let entries = reader.mapping(section.value, "passkeys", of: Key.names) else { return nil }
    var passkeys = PasskeyRequirements(rpID: "", origins: [])
    for entry in entries {
      let (name, node) = ("passkeys.\(entry.key.name)", entry.value)
      switch Key(rawValue: entry.key.name) {
      case .rpID:
        if let id = reader.text(node, ProofForms.rpID) { passkeys.rpID = id }
      case .origins:
        passkeys.origins = Set(reader.texts(node, name, ProofForms.origin))
      case .topOrigins:
        passkeys.topOrigins = Set(reader.texts(node, name, ProofForms.topOrigin))
      case .signCount:
        let words = PasskeyRequirements.SignCountDemand.allCases.map { ($0.rawValue, $0) }
        if let demand = reader.word(node, name, among: words) { passkeys.signCount = demand }
      case .userVerification:
        let words = [("required", true), ("preferred", false)]
        if let isRequired = reader.word(node, name, among: words) { passkeys.requiresUserVerification = isRequired }
      case .deviceBound:
        if let isRequired = reader.boolean(node, name) { passkeys.requiresDeviceBoundKeys = isRequired }
      case .aaguids:
        passkeys.aaguids = Set(reader.texts(node, name, ProofForms.aaguid))
      case nil: break
      }
    }
    for key in [Key.rpID, .origins] where !entries.contains(where: { $0.key.name == key.rawValue }) {
      reader.refuse(section.key.place, "passkeys needs \(key.rawValue)")
    }
    return passkeys
  }
}
