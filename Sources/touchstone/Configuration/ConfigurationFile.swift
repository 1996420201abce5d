// The file behind `--config`. What is not said keeps its default; what is not known is an error.

internal import Glibc
internal import TouchstonePolicy
internal import TouchstoneService

/// Settings of one process. Flags come first, then the file, then these defaults.
struct ProcessConfiguration {
  /// Each HOST:PORT or unix:PATH.
  var listen = ["127.0.0.1:7443"]
  /// Of all that is not a Unix socket.
  var tls: TLSSettings?
  var limits = LimitSettings()
  var dataDirectory = "data"
  var store = StoreSetting.sqlite
  /// `nil`: in the data directory.
  var keys: KeySource?
  /// `nil`: all events stay.
  var retention: RetentionSettings?
  /// 0: one for each core.
  var shards = 0
  /// Only a flag can say so.
  var allowsPlaintextBeyondLoopback = false
  var service = ServiceConfiguration()
}

extension ProcessConfiguration {
  var keySource: KeySource { keys ?? .path(dataDirectory + "/keys") }

  /// On a first start: not where it is said where keys are, for then they are to be there, and a mount that failed is no
  /// reason to begin a database with others.
  var mayMakeKeys: Bool { store == .sqlite && keys == nil }
}

/// What is wrong with a configuration file: one thing a line.
struct ConfigurationErrors: Error {
  /// "FILE:LINE:COLUMN: MESSAGE", in the file's order; without a place where it is the file as a whole.
  var lines: [String]

  /// More are nobody's to read at once.
  static let maximumCount = 100

  init(_ path: String, _ message: String) {
    lines = ["\(path): \(message)"]
  }

  init(_ path: String, _ errors: [YAMLError]) {
    lines = errors.sorted { $0.place < $1.place }.prefix(Self.maximumCount).map { error in
      "\(path):\(error.place.line):\(error.place.column): \(error.message)"
    }
    if errors.count > Self.maximumCount { lines.append("\(path): and more") }
  }
}

extension ProcessConfiguration {
  /// More is not a configuration.
  private static let maximumFileBytes = 1 << 20
  static let maximumShards = 256
  private static let maximumListeners = 16
  /// A second, for tests, to an hour: what is open longer is no longer one login.
  private static let lifetimeSeconds = 1...3_600

  /// The defaults where there is no file.
  ///
  /// - Parameter trust: where nothing is served by it, the file may be anybody's.
  static func load(_ path: String?, from trust: FileTrust = .ownersOnly) throws(Failure) -> ProcessConfiguration {
    guard let path else { return ProcessConfiguration() }
    do throws(ConfigurationErrors) {
      return try load(path: path, from: trust)
    } catch {
      throw Failure(error)
    }
  }

  private static func load(path: String, from trust: FileTrust) throws(ConfigurationErrors) -> ProcessConfiguration {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try readFile(path, maximumBytes: maximumFileBytes, from: trust)
    } catch {
      throw ConfigurationErrors(path, error.message)
    }
    var reader = SettingReader()
    var configuration = ProcessConfiguration()
    do throws(YAMLError) {
      var errors: [YAMLError] = []
      let root = try YAMLNode.parse(bytes, errors: &errors)
      reader.refuse(errors)
      configuration.apply(root, with: &reader)
    } catch {
      throw ConfigurationErrors(path, [error])
    }
    guard reader.errors.isEmpty else { throw ConfigurationErrors(path, reader.errors) }
    guard !configuration.store.hasSecret || !isReadableByOthers(path) else {
      throw ConfigurationErrors(path, "other users can read this file, and store holds a password: run chmod o-r on it")
    }
    return configuration
  }

  enum Key: String, CaseIterable {
    case listen
    case tls
    case callers
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
  }

  private mutating func apply(_ root: YAMLNode, with reader: inout SettingReader) {
    // Whoever writes one says which applications belong together.
    service.vendors = Vendors()
    let entries = reader.mapping(root, "the configuration", of: Key.allCases.map(\.rawValue)) ?? []
    var defaults = PolicySection.Defaults()
    for entry in entries { apply(entry.key.name, entry.value, policies: &defaults, with: &reader) }
    // Last, whatever the file's order: policies begin with what it says of all of them.
    for index in service.policies.indices { defaults.apply(to: &service.policies[index]) }
    if let section = entries.first(where: { $0.key.name == Key.policies.rawValue }) {
      service.policies += PolicySection(defaults: defaults).read(section.value, with: &reader)
    }
    applyAccess(entries, with: &reader)
  }

  /// Who may call, and how they show it: one rests on the other.
  private mutating func applyAccess(_ entries: [YAMLEntry], with reader: inout SettingReader) {
    func entry(_ key: Key) -> YAMLEntry? { entries.first { $0.key.name == key.rawValue } }
    if let section = entry(.tls) {
      tls = TLSSettings(section.value, with: &reader)
      if entry(.callers) == nil {
        reader.refuse(section.key.place, "tls needs callers: over TLS nobody may call whom they do not name")
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
      Self.set(&listen, Self.readEndpoints(node, name, with: &reader))
    case .limits:
      limits = LimitSettings(node, with: &reader)
    case .reflection:
      Self.set(&service.servesReflection, reader.boolean(node, name))
    case .dataDirectory:
      Self.set(&dataDirectory, reader.text(node, name, bytes: 1...Int(PATH_MAX)))
    case .store:
      Self.set(&store, Self.readStore(node, name, with: &reader))
    case .keys:
      keys = reader.text(node, name, bytes: 1...Int(PATH_MAX)).map { .path($0) }
    case .shards:
      Self.set(&shards, reader.integer(node, name, in: 1...Self.maximumShards))
    case .issuer:
      Self.set(&service.issuer, reader.text(node, name, bytes: 1...ServiceConfiguration.maximumIssuerBytes))
    case .evaluationLifetime:
      policies.evaluationLifetime = Self.readLifetime(node, name, with: &reader)
    case .tokenLifetime:
      policies.tokenLifetime = Self.readLifetime(node, name, with: &reader)
    case .ticketLifetime:
      Self.set(&service.enrolment.ticketLifetime, Self.readLifetime(node, name, with: &reader))
    case .vendors:
      service.vendors = VendorSection(node, with: &reader).vendors
    case .policies, .tls, .callers, .retention, nil:
      break
    }
  }

  /// What cannot be read leaves the default.
  private static func set<Value>(_ target: inout Value, _ read: Value?) {
    if let read { target = read }
  }

  private static func readLifetime(
    _ node: YAMLNode, _ name: String, with reader: inout SettingReader
  ) -> Duration? {
    reader.integer(node, name, in: lifetimeSeconds).map { .seconds($0) }
  }

  private static func readStore(
    _ node: YAMLNode, _ name: String, with reader: inout SettingReader
  ) -> StoreSetting? {
    guard let text = reader.text(node, name) else { return nil }
    do throws(StoreSetting.Malformed) {
      return try StoreSetting(parsing: text)
    } catch {
      reader.refuse(node.place, "\(name) \(error.message)")
      return nil
    }
  }

  /// One, or a list.
  private static func readEndpoints(
    _ node: YAMLNode, _ name: String, with reader: inout SettingReader
  ) -> [String]? {
    guard case .sequence(let nodes) = node.content else { return readEndpoint(node, name, with: &reader).map { [$0] } }
    guard (1...maximumListeners).contains(nodes.count) else {
      reader.refuse(node.place, "\(name) must be 1 to \(maximumListeners)")
      return nil
    }
    return nodes.compactMap { readEndpoint($0, name, with: &reader) }
  }

  private static func readEndpoint(
    _ node: YAMLNode, _ name: String, with reader: inout SettingReader
  ) -> String? {
    guard let text = reader.text(node, name) else { return nil }
    do throws(Failure) {
      _ = try Endpoint(parsing: text)
      return text
    } catch {
      reader.refuse(node.place, "\(name) must be \(Endpoint.form)")
      return nil
    }
  }
}
