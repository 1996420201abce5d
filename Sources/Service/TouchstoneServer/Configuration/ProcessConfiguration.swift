// The settings of one process: their names, their defaults, and which of them a reload takes.

internal import Encodings
internal import SettingFiles
internal import TouchstoneAttestation
internal import TouchstoneConsole
internal import TouchstonePolicy
package import TouchstoneService

/// Settings of one process. `ConfigurationSources` says which source takes precedence over these defaults.
package struct ProcessConfiguration: Sendable {
  /// The addresses, each HOST:PORT or unix:PATH.
  package var listen = ["127.0.0.1:7443"]
  /// For all listeners that are not Unix sockets.
  var tls: TLSSettings?
  /// `nil`: the service serves no HTTP.
  package var http: HTTPSettings?
  package var log = LogSettings()
  /// `nil`: no call is traced.
  var traces: TraceSettings?
  var attestation = AttestationFiles()
  var limits = LimitSettings()
  package var dataDirectory = "data"
  package var store = StoreSetting.sqlite
  /// `nil`: the keys are in the data directory.
  package var keys: KeySource?
  /// `nil`: all events stay in the log.
  var retention: RetentionSettings?
  /// `nil`: the service makes no backups.
  var backup: BackupSettings?
  /// 0: one for each core.
  package var shards = 0
  var watchFiles = WatchSetting.standard
  /// Set only by a flag.
  package var allowsPlaintextBeyondLoopback = false
  package var service = ServiceConfiguration()
  /// The accounts of the console; `nil`: there is none.
  var operators: [OperatorDefinition]?
  /// The console's in browsers; `nil`: its address.
  var consoleURL: ConsoleURL?
  /// How operators sign in.
  var console = ConsoleSection()
  /// For policies without their own settings.
  private var policyDefaults = PolicySection.Defaults()
  /// As they are written; `nil`: there is no such section.
  private var callers: CallerSection?
  /// `nil`: the defaults.
  var origin: ConfigurationOrigin?
  /// The warnings of settings that are valid and may surprise: "FILE:LINE:COLUMN: warning: MESSAGE".
  package var warnings: [String] = []

  package init() {}
}

extension ProcessConfiguration {
  package static let maximumShards = 256

  package var storeLocation: StoreLocation { store.location(dataDirectory: dataDirectory) }

  /// As `keySource`, for a data directory that a command names.
  package func keySource(forDataDirectory path: String) -> KeySource { keys ?? .path(path + "/keys") }

  var keySource: KeySource { keySource(forDataDirectory: dataDirectory) }

  /// Whether a first start may make keys. It may not if a setting says where they are: they must be there then, and a
  /// failed mount must not begin a database with new keys.
  var mayMakeKeys: Bool { store == .sqlite && keys == nil }
}

// MARK: Reading

extension ProcessConfiguration: ConfigurationSection {
  static let rootName = "the configuration"
  static let keysSetting = "keys"
  static let dataDirectorySetting = "data_dir"

  private static let listenerCounts = 1...16
  /// From a second, for tests, to an hour. An evaluation that is open longer is no longer one login.
  private static let lifetimeSeconds = 1...3_600

  static var keysStandAlone: Bool { true }

  static var keys: [ConfigurationKey<ProcessConfiguration>] {
    ConfigurationKey(
      "listen", .endpoints(listenerCounts), to: \.listen, needsRestart: true,
      "The addresses for gRPC. Port 0 takes a free one. TCP speaks TLS if there is a section `tls`; Unix sockets never do."
    )
    ConfigurationKey(
      "tls", .section, to: \.tls, needsRestart: true,
      "The service's certificate, and the authorities of its callers'.")
    ConfigurationKey(
      "http", .http, to: \.http, default: .words("no HTTP"), needsRestart: true,
      "The address for HTTP, which only this machine reaches; or one for each part.")
    ConfigurationKey("log", .section, to: \.log, "The log, on stderr.")
    ConfigurationKey(
      "traces", .section, to: \.traces, needsRestart: true,
      "The collector of calls' spans. Without it no call is traced.")
    ConfigurationKey(
      "attestation", .section, to: \.attestation,
      "Which certificates of phones' and authenticators' keys are trusted.")
    ConfigurationKey(
      "applications",
      .map(.section(AttestationRequirements.rows), atMost: ApplicationSection.maximumApplications),
      "What an application demands of the proofs of its keys."
    ) { $2.service.applications = ApplicationSection.read($0, $1, with: &$3) }
    ConfigurationKey(
      "callers", CallerSection.shape, default: .words("programs on this machine"),
      "The callers, how the service identifies them, and their grants."
    ) { entry, _, configuration, reader in
      let section = CallerSection(entry.value, with: &reader)
      configuration.service.callers = section.callers
      configuration.callers = section
    }
    ConfigurationKey(
      "operators", OperatorSection.shape, default: .words("no console"),
      "The accounts of the console in the browser ([SUPPORT.md](SUPPORT.md))."
    ) { $2.operators = OperatorSection($0.value, with: &$3).operators }
    ConfigurationKey(
      "console_url", .consoleURL, to: \.consoleURL, default: .words("the address"), needsRestart: true,
      "The console's URL in browsers, if a proxy changes the host or the path of requests ([SUPPORT.md](SUPPORT.md)).")
    ConfigurationKey("console", .section, to: \.console, needsRestart: true, "How operators sign in at the console.")
    ConfigurationKey(
      "vendors", VendorSection.shape, "The applications that share a phone's failures and lockouts."
    ) { $2.service.vendors = VendorSection($0.value, $1, with: &$3).vendors }
    ConfigurationKey(
      "reflection", .boolean, to: \.service.servesReflection, needsRestart: true,
      "Serves server reflection to the callers to whom it is granted.")
    ConfigurationKey(
      "limits", .section, to: \.limits, needsRestart: true,
      "Bounds for the work and memory that clients may cause.")
    ConfigurationKey(
      dataDirectorySetting, .path, to: \.dataDirectory, needsRestart: true,
      "The directory of SQLite's database and the keys. Made on first start.")
    ConfigurationKey(
      "store", .store, to: \.store, needsRestart: true,
      "The records' store: in `data_dir`, or a URI as libpq reads it.")
    ConfigurationKey(
      keysSetting, .path, default: .words("data_dir/keys"),
      "The keys: a directory, or a file that `touchstone keys export` wrote. The variable holds the file's line itself."
    ) { $0.keys = .path($1) }
    ConfigurationKey(
      "retention", .section(lacksAt: .sectionKey), to: \.retention, needsRestart: true,
      "When events move from the audit log into an archive.")
    ConfigurationKey(
      "backup", .section(lacksAt: .sectionKey), to: \.backup, needsRestart: true,
      "SQLite: the backups that the service makes of its database while it runs.")
    ConfigurationKey(
      "shards", .integer(1...maximumShards), to: \.shards,
      default: .words("one for each core that the process may use"), needsRestart: true, "Event loops.")
    ConfigurationKey(
      "issuer", .text(bytes: 1...ServiceConfiguration.maximumIssuerBytes), to: \.service.issuer, needsRestart: true,
      "The issuer of every token.")
    ConfigurationKey(
      "evaluation_lifetime_seconds", .seconds(lifetimeSeconds), default: "120",
      "How long an evaluation stays open, if its policy does not set it."
    ) { $0.setForAllPolicies(\.evaluationLifetime, $1) }
    ConfigurationKey(
      "token_lifetime_seconds", .seconds(lifetimeSeconds), default: .words("300 for logins, 120 for payments"),
      "How long a token is valid, if its policy does not set it."
    ) { $0.setForAllPolicies(\.tokenLifetime, $1) }
    ConfigurationKey(
      "ticket_lifetime_seconds", .seconds(lifetimeSeconds), to: \.service.enrolment.ticketLifetime, needsRestart: true,
      "How long a binding ticket is valid.")
    // After the lifetimes, with which policies begin.
    ConfigurationKey(
      "policies", .map(PolicySection.shape, atMost: PolicySection.maximumPolicies),
      default: .words("the built-in policies alone"),
      "Policies of your own beside the built-in ones ([POLICIES.md](POLICIES.md))."
    ) { entry, _, configuration, reader in
      configuration.service.policies +=
        PolicySection(defaults: configuration.policyDefaults).read(entry.value, with: &reader)
    }
    ConfigurationKey(
      "watch_files", .watch, to: \.watchFiles,
      "How often the service looks whether the configuration or a file that it names has changed, to take it over.")
  }

  private mutating func setForAllPolicies(
    _ lifetime: WritableKeyPath<PolicySection.Defaults, Duration?>, _ value: Duration
  ) {
    policyDefaults[keyPath: lifetime] = value
    for index in service.policies.indices { policyDefaults.apply(to: &service.policies[index]) }
  }

  /// - Parameter isOfFile: a file without `vendors` makes each application its own vendor; without a file they have
  ///   one.
  mutating func apply(_ root: YAMLNode, isOfFile: Bool, with reader: inout SettingReader) {
    if isOfFile { service.vendors = Vendors() }
    let written = reader.read(
      YAMLEntry(element: root), Self.rootName, into: &self, by: Self.keys, prefix: "")
    if let written { check(written, with: &reader) }
  }

  func check(_ written: WrittenSection, with reader: inout SettingReader) {
    let tlsEntry = written.entry("tls")
    if let tlsEntry, written.entry("callers") == nil {
      reader.refuse(tlsEntry.key.place, "tls needs callers: over TLS only named callers may call")
    }
    if tlsEntry == nil || tls != nil {
      let servesUnixSocket = listen.contains { (try? Endpoint(parsing: $0))?.isUnix == true }
      callers?.compare(with: tls, servesUnixSocket: servesUnixSocket, &reader)
    }
    if let entry = written.entry("backup"), store != .sqlite {
      reader.refuse(
        entry.key.place,
        "backup is for SQLite: PostgreSQL is backed up by its own tools (docs/HIGH-AVAILABILITY.md, Backups)")
    }
    if let entry = written.entry("console") { console.check(entry, consoleURL, with: &reader) }
    if let applications = written.entry("applications") { warnOfStrangers(in: applications.value, with: &reader) }
  }

  /// Warns of applications that no caller and no vendor names. A section under a misspelt name applies to no
  /// application, and the application that was meant demands nothing.
  private func warnOfStrangers(in section: YAMLNode, with reader: inout SettingReader) {
    guard case .mapping(let entries) = section.content else { return }
    let named = service.namedApplications
    let areAllNamed = service.callers?.contains { if case .all = $0.applications { true } else { false } } == false
    for entry in entries where !named.contains(where: { Identifier.areEqual($0, entry.key.name) }) {
      let hint = suggestion(for: entry.key.name, among: named)
      guard areAllNamed || !hint.isEmpty else { continue }
      reader.warn(
        entry.key.place, "no caller and no vendor names the application \(entry.key.name.debugDescription)\(hint)")
    }
  }
}

// MARK: Reloading

extension ProcessConfiguration {
  /// Returns the names of changed settings that a reload does not take. They stay as they are while the service runs.
  func settingsOtherThan(in read: ProcessConfiguration) -> [String] {
    Self.keys.filter { $0.needsRestart && !$0.isSame(self, read) }.map(\.row.name)
  }
}
