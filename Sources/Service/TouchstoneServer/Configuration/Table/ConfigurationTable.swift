// Every key of the configuration: its kind, its bounds, its default and its meaning.
//
// The keys that the reading accepts, the variables, the flags, the schema and docs/CONFIGURATION.md follow from these
// rows.

internal import SettingFiles
internal import TouchstoneConsole
internal import TouchstoneService

enum ConfigurationTable {
  static let rows = ProcessConfiguration.Key.rows
  /// All keys with values of their own, in the table's order.
  static let settings = settings(of: rows, under: [])

  private static func settings(of rows: [KeyRow], under path: [String]) -> [ConfigurationSetting] {
    rows.flatMap { row in
      let setting = ConfigurationSetting(path: path + [row.name], row: row)
      return (row.shape.isSetting ? [setting] : []) + settings(of: row.shape.keys, under: setting.path)
    }
  }
}

extension ProcessConfiguration.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .listen:
      KeyRow(
        .oneOrList(.endpoint, SettingReader.listenerCounts), "127.0.0.1:7443",
        "The addresses for gRPC. Port 0 takes a free one. TCP speaks TLS if there is a section `tls`; Unix sockets never do."
      )
    case .tls: KeyRow(TLSSettings.Key.section, "The service's certificate, and the authorities of its callers'.")
    case .http:
      KeyRow(
        .either([.endpoint, HTTPPart.section]), .words("no HTTP"),
        "The address for HTTP, which only this machine reaches; or one for each part.")
    case .log: KeyRow(LogSettings.Key.section, "The log, on stderr.")
    case .traces:
      KeyRow(TraceSettings.Key.section, "The collector of calls' spans. Without it no call is traced.")
    case .attestation:
      KeyRow(AttestationFiles.Key.section, "Which certificates of phones' and authenticators' keys are trusted.")
    case .applications:
      KeyRow(
        .map(ApplicationSection.Key.section, atMost: ApplicationSection.maximumApplications),
        "What an application demands of the proofs of its keys.")
    case .callers:
      KeyRow(
        .list(CallerSection.Key.section, 1...CallerSection.maximumCallers), .words("programs on this machine"),
        "The callers, how the service identifies them, and their grants.")
    case .operators:
      KeyRow(
        .map(OperatorSection.Key.section, atMost: OperatorDefinition.maximumOperators), .words("no console"),
        "The accounts of the console in the browser ([CONSOLE.md](CONSOLE.md)).")
    case .consoleURL:
      KeyRow(
        .form("a URL that ends with /console"), .words("the address"),
        "The console's URL in browsers, if a proxy changes the host or the path of requests ([CONSOLE.md](CONSOLE.md))."
      )
    case .vendors:
      KeyRow(
        .map(
          .list(.form("an application"), 1...VendorSection.maximumApplications), atMost: VendorSection.maximumVendors),
        "The applications that share a phone's failures and lockouts.")
    case .reflection:
      KeyRow(.boolean, "true", "Serves server reflection to the callers to whom it is granted.")
    case .limits: KeyRow(LimitSettings.Key.section, "Bounds for the work and memory that clients may cause.")
    case .dataDirectory: KeyRow(.path, "data", "The directory of SQLite's database and the keys. Made on first start.")
    case .store: KeyRow(.store, "sqlite", "The records' store: in `data_dir`, or a URI as libpq reads it.")
    case .keys:
      KeyRow(
        .path, .words("data_dir/keys"),
        "The keys: a directory, or a file that `touchstone keys export` wrote. The variable holds the file's line itself."
      )
    case .retention: KeyRow(RetentionSettings.Key.section, "When events move from the audit log into an archive.")
    case .shards:
      KeyRow(
        .integer(1...ProcessConfiguration.maximumShards), .words("one for each core that the process may use"),
        "Event loops.")
    case .issuer:
      KeyRow(.text(bytes: 1...ServiceConfiguration.maximumIssuerBytes), "touchstone", "The issuer of every token.")
    case .evaluationLifetime:
      KeyRow(
        .integer(SettingReader.lifetimeSeconds), "120",
        "How long an evaluation stays open, if its policy does not set it."
      )
    case .tokenLifetime:
      KeyRow(
        .integer(SettingReader.lifetimeSeconds), .words("300 for logins, 120 for payments"),
        "How long a token is valid, if its policy does not set it.")
    case .ticketLifetime: KeyRow(.integer(SettingReader.lifetimeSeconds), "120", "How long a binding ticket is valid.")
    case .policies:
      KeyRow(
        .map(PolicySection.shape, atMost: PolicySection.maximumPolicies), .words("the built-in policies alone"),
        "Policies of your own beside the built-in ones ([POLICIES.md](POLICIES.md)).")
    case .watchFiles:
      KeyRow(
        .either([.duration(WatchSetting.intervals), .word([WatchSetting.off])]), "10s",
        "How often the service looks whether the configuration or a file that it names has changed, to take it over.")
    }
  }
}

extension TLSSettings.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .certificate: KeyRow(.path, isRequired: true, "PEM: the service's certificate first, then its intermediates.")
    case .key: KeyRow(.path, isRequired: true, "PEM: its key, without a password and closed to other users.")
    case .clientAuthorities:
      KeyRow(.path, .words("no certificate is requested"), "PEM: the authorities of callers' certificates.")
    case .clientCertificates:
      KeyRow(.word(["required", "optional"]), "optional", "Whether every caller must show a certificate.")
    }
  }
}

extension HTTPPart: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .everybody: KeyRow(.endpoint, "The address for services that verify tokens: the keys, and where they are.")
    case .operators: KeyRow(.endpoint, "The address for monitoring and operators: metrics, the console.")
    }
  }
}

extension LogSettings.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .level: KeyRow(.word(LogSettings.levels.map(\.0)), "info", "From which level on lines are written.")
    case .format: KeyRow(.word(LogSettings.formats.map(\.0)), "text", "Lines for people, or one JSON object a line.")
    }
  }
}

extension TraceSettings.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .endpoint:
      KeyRow(.endpoint, isRequired: true, "An OpenTelemetry collector that takes OTLP over gRPC.")
    case .sample: KeyRow(.share, "0.01", "The share of the calls that begin a trace.")
    case .authorities: KeyRow(.path, .words("plaintext"), "PEM: the authorities of the collector's certificate.")
    }
  }
}

extension AttestationFiles.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .roots:
      KeyRow(section, "Certificates in PEM, which take the place of the built-in ones.")
    case .revoked: KeyRow(section, "Lists of revoked certificates.")
    case .metadata: KeyRow(section, "Metadata of authenticators' models.")
    case .whenTooOld:
      KeyRow(
        .word(["warn", "refuse"]), "warn",
        "Whether keys are bound by proofs while a file is older than its `maximum_age`.")
    }
  }

  private var section: ValueShape { .section(files.map { $0.row(in: self).named($0.rawValue) }) }
}

extension AttestationFiles.FileKey {
  fileprivate func row(in section: AttestationFiles.Key) -> KeyRow {
    switch (section, self) {
    case (.roots, .android): KeyRow(.path, .words("Google's"), "The roots of Android's keys.")
    case (.roots, .apple): KeyRow(.path, .words("Apple's"), "The roots of App Attest.")
    case (.roots, .authenticators):
      KeyRow(.path, "The roots of authenticators whose models the metadata does not have.")
    case (.roots, .fido): KeyRow(.path, .words("GlobalSign's"), "The roots of the metadata's signer.")
    case (.roots, .maximumAge):
      KeyRow(.age(RetentionSettings.ages), "365d", "The age at which a file of roots is too old.")
    case (.revoked, .maximumAge): KeyRow(.age(RetentionSettings.ages), "7d", "The age at which a list is too old.")
    case (.revoked, _): KeyRow(.path, "Google's list of revoked certificates.")
    case (.metadata, .maximumAge):
      KeyRow(.age(RetentionSettings.ages), "7d", "The time after the metadata's `nextUpdate`.")
    case (.metadata, _): KeyRow(.path, "FIDO's metadata, as it is signed.")
    case (.whenTooOld, _): preconditionFailure("\(section.rawValue) names no files")
    }
  }
}

extension LimitSettings.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .connections: KeyRow(.integer(LimitSettings.connectionCounts), "10000", "Connections open at one time.")
    case .strangersPerAddress:
      KeyRow(
        .integer(LimitSettings.connectionCounts), .words("connections / 8"),
        "Connections without an admitted call, from one address or IPv6 /64.")
    case .connectionAge:
      KeyRow(.duration(LimitSettings.ages), .words("no limit"), "The age at which a client must connect anew.")
    case .connectionAgeGrace:
      KeyRow(.duration(LimitSettings.ages), .words("as long as they take"), "How long calls may go on after that.")
    case .connectionIdle:
      KeyRow(.duration(LimitSettings.ages), "15m", "A connection without calls is closed after this time.")
    case .pingInterval:
      KeyRow(.duration(LimitSettings.ages), "5m", "Clients that send PINGs more often are disconnected.")
    }
  }
}

extension RetentionSettings.Key: ConfigurationKey {
  var row: KeyRow {
    switch self {
    case .events: KeyRow(.age(RetentionSettings.ages), isRequired: true, "Older events move into the archive.")
    case .archive: KeyRow(.path, isRequired: true, "The archive's directory.")
    }
  }
}
