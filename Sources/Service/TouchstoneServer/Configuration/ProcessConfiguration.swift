// The settings of one process: their names, their defaults, and which of them a reload takes.

internal import SettingFiles
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
  package var store = StoreSetting.standard
  /// `nil`: the keys are in the data directory.
  package var keys: KeySource?
  /// `nil`: all events stay in the log.
  var retention: RetentionSettings?
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
  var mayMakeKeys: Bool { store.isInDataDirectory && keys == nil }
}

// MARK: Reading

extension ProcessConfiguration {
  enum Key: String, CaseIterable {
    case listen
    case tls
    case http
    case log
    case traces
    case attestation
    case applications
    case callers
    case operators
    case consoleURL = "console_url"
    case vendors
    case reflection
    case limits
    case dataDirectory = "data_dir"
    case store
    case keys
    case retention
    case shards
    case issuer
    case evaluationLifetime = "evaluation_lifetime_seconds"
    case tokenLifetime = "token_lifetime_seconds"
    case ticketLifetime = "ticket_lifetime_seconds"
    case policies
    case watchFiles = "watch_files"
  }

  /// - Parameter isOfFile: a file without `vendors` makes each application its own vendor; without a file they have
  ///   one.
  mutating func apply(_ root: YAMLNode, isOfFile: Bool, with reader: inout SettingReader) {
    if isOfFile { service.vendors = Vendors() }
    let entries = reader.mapping(root, "the configuration", of: Key.names) ?? []
    var defaults = PolicySection.Defaults()
    for entry in entries { apply(entry.key.name, entry.value, policies: &defaults, with: &reader) }
    // Last, whatever the file's order, because policies begin with the settings for all of them.
    for index in service.policies.indices { defaults.apply(to: &service.policies[index]) }
    if let section = entries.first(where: { $0.key.name == Key.policies.rawValue }) {
      service.policies += PolicySection(defaults: defaults).read(section.value, with: &reader)
    }
    applyAccess(entries, with: &reader)
    if let section = entries.first(where: { $0.key.name == Key.applications.rawValue }) {
      warnOfStrangers(in: section.value, with: &reader)
    }
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

  /// Callers and TLS are read together, because they depend on each other.
  private mutating func applyAccess(_ entries: [YAMLEntry], with reader: inout SettingReader) {
    func entry(_ key: Key) -> YAMLEntry? { entries.first { $0.key.name == key.rawValue } }
    if let section = entry(.tls) {
      tls = TLSSettings(section.value, with: &reader)
      if entry(.callers) == nil {
        reader.refuse(section.key.place, "tls needs callers: over TLS only named callers may call")
      }
    }
    if let section = entry(.retention) { retention = RetentionSettings(section, with: &reader) }
    guard let section = entry(.callers) else { return }
    let callers = CallerSection(section.value, with: &reader)
    if entry(.tls) == nil || tls != nil {
      let servesUnixSocket = listen.contains { (try? Endpoint(parsing: $0))?.isUnix == true }
      callers.compare(with: tls, servesUnixSocket: servesUnixSocket, &reader)
    }
    service.callers = callers.callers
  }

  private mutating func apply(
    _ name: String, _ node: YAMLNode, policies: inout PolicySection.Defaults, with reader: inout SettingReader
  ) {
    switch Key(rawValue: name) {
    case .listen:
      Self.set(&listen, reader.endpoints(node, name))
    case .http:
      http = HTTPSettings(node, with: &reader)
    case .log:
      log = LogSettings(node, with: &reader)
    case .traces:
      traces = TraceSettings(node, with: &reader)
    case .attestation:
      attestation = AttestationFiles(node, with: &reader)
    case .applications:
      let section = ApplicationSection(node, with: &reader)
      service.applications = Dictionary(section.applications.map { ($0.id, $0.requirements) }) { _, last in last }
    case .limits:
      limits = LimitSettings(node, with: &reader)
    case .reflection:
      Self.set(&service.servesReflection, reader.boolean(node, name))
    case .dataDirectory:
      Self.set(&dataDirectory, reader.path(node, name))
    case .store:
      Self.set(&store, reader.store(node, name))
    case .keys:
      keys = reader.path(node, name).map { .path($0) }
    case .shards:
      Self.set(&shards, reader.integer(node, name, in: 1...Self.maximumShards))
    case .watchFiles:
      Self.set(&watchFiles, WatchSetting(node, name, with: &reader))
    case .issuer:
      Self.set(&service.issuer, reader.text(node, name, bytes: 1...ServiceConfiguration.maximumIssuerBytes))
    case .evaluationLifetime:
      policies.evaluationLifetime = reader.lifetime(node, name)
    case .tokenLifetime:
      policies.tokenLifetime = reader.lifetime(node, name)
    case .ticketLifetime:
      Self.set(&service.enrolment.ticketLifetime, reader.lifetime(node, name))
    case .operators:
      operators = OperatorSection(node, with: &reader).operators
    case .consoleURL:
      consoleURL = reader.consoleURL(node, name)
    case .vendors:
      service.vendors = VendorSection(node, with: &reader).vendors
    case .policies, .tls, .callers, .retention, nil:
      break
    }
  }

  /// An unreadable value leaves the default.
  private static func set<Value>(_ target: inout Value, _ read: Value?) {
    if let read { target = read }
  }
}

// MARK: Reloading

extension ProcessConfiguration {
  /// Returns the names of changed settings that a reload does not take. They stay as they are while the service runs.
  func settingsOtherThan(in read: ProcessConfiguration) -> [String] {
    Key.allCases.filter { !isInForce($0, of: read) }.map(\.rawValue)
  }

  private func isInForce(_ key: Key, of read: ProcessConfiguration) -> Bool {
    switch key {
    case .listen: listen == read.listen
    case .tls: tls == read.tls
    case .http: http == read.http
    case .traces: traces == read.traces
    case .limits: limits == read.limits
    case .reflection: service.servesReflection == read.service.servesReflection
    case .dataDirectory: dataDirectory == read.dataDirectory
    case .store: store == read.store
    case .retention: retention == read.retention
    case .shards: shards == read.shards
    case .consoleURL: consoleURL == read.consoleURL
    case .issuer: service.issuer == read.service.issuer
    case .ticketLifetime: service.enrolment.ticketLifetime == read.service.enrolment.ticketLifetime
    // Policies begin with the lifetimes.
    case .log, .attestation, .applications, .callers, .operators, .vendors, .keys, .policies, .evaluationLifetime,
      .tokenLifetime, .watchFiles:
      true
    }
  }
}
