// The table's rows for the elements of `callers`, `operators`, `applications` and `policies`, whose names the operator chooses.

internal import TouchstoneAttestation
internal import TouchstoneConsole
internal import TouchstonePolicy
internal import TouchstoneService

extension CallerSection.Key: ConfigurationKey {
  /// Also with the package of this API before them.
  private static let methodNames =
    MethodGrant.names + MethodGrant.names.map { "touchstone.v1.\($0)" }.filter { MethodGrant($0) != nil }

  var row: KeyRow {
    switch self {
    case .name: KeyRow(.form("a name"), isRequired: true, "The caller's name in the audit log.")
    case .spiffe: KeyRow(.form("a SPIFFE ID"), "The one SPIFFE ID in its certificate.")
    case .dns: KeyRow(.form("a DNS name"), "A DNS name in its certificate.")
    case .commonName: KeyRow(.form("a text"), "The common name of a certificate without other names.")
    case .keys:
      KeyRow(
        .list(.form("sha256: and 64 digits"), 1...CallerSection.maximumKeys),
        "Digests of keys, as `touchstone callers new-key` prints them.")
    case .applications:
      KeyRow(
        .either([
          .word([CallerSection.everything]), .list(.form("an application"), 1...CallerSection.maximumApplications),
        ]),
        "The applications for which the caller may call.")
    case .methods:
      KeyRow(
        .either([.word([CallerSection.everything]), .list(.word(Self.methodNames), 1...MethodGrant.names.count)]),
        isRequired: true, "The methods that it may call.")
    }
  }
}

extension OperatorSection.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .password:
      KeyRow(
        .form("a hash as `touchstone operators hash` prints it"), isRequired: true, isSecret: true,
        "The hash of the operator's password.")
    case .role:
      KeyRow(.word(OperatorRole.allCases.map(\.rawValue)), isRequired: true, "What the operator may do.")
    case .applications:
      KeyRow(
        .either([
          .word([CallerSection.everything]), .list(.form("an application"), 1...CallerSection.maximumApplications),
        ]), isRequired: true, "The applications that the operator sees.")
    }
  }
}

extension ApplicationSection.Key: ConfigurationKey {
  private static func forms<Value>(_ form: TextForm<Value>) -> ValueShape {
    .list(.form(form.form), 1...ProofForms.maximumElements)
  }

  var row: KeyRow {
    switch self {
    case .attestation:
      KeyRow(
        .word(AttestationRequirements.Demand.allCases.map(\.rawValue)), "accepted", "Whether a key needs a proof.")
    case .minimumLevel:
      KeyRow(
        .word(AttestationLevel.allCases.map(\.name)),
        .words("tee on Android; elsewhere app if required, otherwise none"),
        "The level that a proof must reach.")
    case .appIDs: KeyRow(Self.forms(ProofForms.appID), .words("App Attest is refused"), "The apps of App Attest.")
    case .environments:
      KeyRow(
        .list(
          .word(AppAttestEnvironment.allCases.map(\.rawValue)), 1...AppAttestEnvironment.allCases.count),
        .words("[production]"), "The environments of App Attest.")
    case .packages:
      KeyRow(
        .list(PackageSettings.Key.section, 1...ProofForms.maximumElements), .words("any"), "The Android apps.")
    case .oldestPatchLevel:
      KeyRow(.form("a date such as 2025-11-01"), .words("any"), "The oldest patch level of an Android phone.")
    case .encoding:
      KeyRow(.word(ProofEncoding.allCases.map(\.rawValue)), "strict", "How the bytes of a proof are read.")
    case .passkeys: KeyRow(PasskeySettings.Key.section, .words("no passkeys"), "The relying party of its passkeys.")
    }
  }
}

extension PackageSettings.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .name: KeyRow(.form(ProofForms.packageName.form), isRequired: true, "The package's name.")
    case .signers:
      KeyRow(
        .list(.form(ProofForms.signer.form), 1...ProofForms.maximumElements), isRequired: true,
        "The digests of its signing certificates.")
    }
  }
}

extension PasskeySettings.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .rpID: KeyRow(.form(ProofForms.rpID.form), isRequired: true, "The relying party's id.")
    case .origins:
      KeyRow(
        .list(.form(ProofForms.origin.form), 1...ProofForms.maximumElements), isRequired: true,
        "The origins of its web pages and apps.")
    case .topOrigins:
      KeyRow(
        .list(.form(ProofForms.topOrigin.form), 1...ProofForms.maximumElements), .words("none"),
        "The origins of other pages that may frame its pages.")
    case .signCount:
      KeyRow(
        .word(PasskeyRequirements.SignCountDemand.allCases.map(\.rawValue)),
        "must_grow",
        "Whether a sign count that did not grow is refused, or reported for passkeys that may be copied.")
    case .userVerification:
      KeyRow(.word(["required", "preferred"]), "required", "Whether the authenticator must verify the person.")
    case .deviceBound: KeyRow(.boolean, "false", "Takes only keys that cannot be copied to other devices.")
    case .aaguids:
      KeyRow(
        .list(.form(ProofForms.aaguid.form), 1...ProofForms.maximumElements), .words("any"),
        "The authenticators' models.")
    }
  }
}

// MARK: Policies

extension PolicySection {
  /// A policy's settings, as their own table reads them (`PolicySetting`).
  static let shape = ValueShape.section(
    PolicySetting.all.map { setting in
      let probe = ShapeProbe()
      var definition = PolicyDefinition(name: "")
      setting.read(probe, into: &definition)
      return KeyRow(probe.shape, isRequired: required.contains(setting.key), "").named(setting.key)
    })

  /// The settings without a default.
  private static let required = ["purpose", "factors"]
}

/// Notes as which kind a setting is read.
private final class ShapeProbe: SettingSource {
  private(set) var shape = ValueShape.form("")

  private func note<Value>(_ shape: ValueShape) -> Value? {
    self.shape = shape
    return nil
  }

  func integer() -> Int? { note(.integer(PolicyDefinition.lockoutBounds)) }
  func duration() -> Duration? { note(.duration(PolicyDefinition.lifetimeBounds)) }
  func version() -> OSVersion? { note(.version) }
  func text() -> String? { note(.text(bytes: 0...PolicyDefinition.maximumTitleBytes)) }
  func word<Value>(among words: [(String, Value)]) -> Value? { note(.word(words.map(\.0))) }

  func factors() -> [Setting<Factor>]? {
    note(.list(.word(Factor.allCases.map(\.settingName)), 1...Factor.allCases.count))
  }

  func ladder() -> [Setting<PolicyDefinition.Rung>]? {
    note(.list(PolicyDefinition.RungKey.section, 1...PolicyDefinition.rungBounds.count))
  }

  func token() -> PolicyDefinition.Token? {
    note(.either([.word(["none"]), PolicyDefinition.TokenKey.section]))
  }
}

extension PolicyDefinition.RungKey: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .failures: KeyRow(.integer(PolicyDefinition.rungBounds), isRequired: true, "The number of failures.")
    case .lock: KeyRow(.duration(PolicyDefinition.lockBounds), "How long the secret is locked then.")
    case .disable: KeyRow(.boolean, "Whether it is disabled then.")
    }
  }
}

extension PolicyDefinition.TokenKey: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .lifetime: KeyRow(.duration(PolicyDefinition.lifetimeBounds), "How long the token is valid.")
    case .singleUse: KeyRow(.boolean, "Whether it serves once.")
    }
  }
}
