// `callers:` of the configuration: the callers, how the service identifies them, and their grants.

internal import Encodings
internal import SettingFiles
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

struct CallerSection {
  static var shape: ValueShape { .list(.section(WrittenCaller.rows), 1...maximumCallers) }

  /// Enough for every service of a company. Each of their keys is compared with the key of every request.
  static let maximumCallers = 256
  /// One key, and others during its replacement.
  static let maximumKeys = 8
  /// Enough for every product of a company. A caller with more can be granted "*".
  static let maximumApplications = 1_000

  /// The callers, including the readable parts of callers with mistakes.
  private(set) var callers: [CallerDefinition] = []
  private var certificatePlaces: [YAMLPlace] = []
  private var keyOnlyPlaces: [YAMLPlace] = []

  init(_ node: YAMLNode, with reader: inout SettingReader) {
    guard let nodes = reader.list(node, "callers") else { return }
    if nodes.isEmpty {
      reader.refuse(node.place, "callers must name a caller; leave it out to let only this machine call")
    }
    if nodes.count > Self.maximumCallers {
      reader.refuse(node.place, "callers must be at most \(Self.maximumCallers)")
    }
    for node in nodes.prefix(Self.maximumCallers) { read(node, with: &reader) }
  }

  /// Compares the callers with the transport: a certificate identifies a caller only if the service requests
  /// certificates.
  func compare(with tls: TLSSettings?, servesUnixSocket: Bool, _ reader: inout SettingReader) {
    if tls?.clientAuthorities == nil {
      for place in certificatePlaces {
        reader.refuse(place, "a certificate needs tls.client_authorities")
      }
    }
    if tls?.requiresClientCertificates == true, !servesUnixSocket {
      for place in keyOnlyPlaces {
        reader.refuse(place, "a caller without a certificate cannot call where tls.client_certificates is required")
      }
    }
  }

  private mutating func read(_ node: YAMLNode, with reader: inout SettingReader) {
    guard let caller: WrittenCaller = reader.section(YAMLEntry(element: node), "a caller") else { return }
    // ASCII, so that equal ones are equal in bytes.
    if let name = caller.name, callers.contains(where: { $0.name == name.value }) {
      reader.refuse(name.place, "there are two callers \(name.value.debugDescription)")
    }
    if let name = caller.certificateName,
      let other = callers.first(where: { $0.certificateName?.isSame(as: name.value) == true })
    {
      reader.refuse(name.place, "is \(other.name.debugDescription)'s: a certificate names one caller")
    }
    for key in caller.keys where callers.flatMap(\.keys).contains(where: { $0.isEqual(to: key.value) }) {
      reader.refuse(key.place, "this key appears twice")
    }
    switch caller.identity {
    case .certificate(let place): certificatePlaces.append(place)
    case .key(let place): keyOnlyPlaces.append(place)
    case nil: break
    }
    callers.append(caller.definition)
  }
}

/// A value and its place, for errors that are found beside other callers.
private struct Placed<Value: Sendable>: Sendable {
  let value: Value
  let place: YAMLPlace
}

/// An element of `callers:`.
private struct WrittenCaller: ConfigurationSection {
  var name: Placed<String>?
  var certificateName: Placed<CertificateName>?
  var keys: [Placed<CallerKeyDigest>] = []
  var applications: ApplicationGrant?
  var methods: [MethodGrant] = []
  /// The place of the identity that counts; `nil`: the caller is known by its path, or by nothing.
  var identity: Identity?

  enum Identity {
    case certificate(YAMLPlace)
    case key(YAMLPlace)
  }

  var definition: CallerDefinition {
    var definition = CallerDefinition(name: name?.value ?? "")
    definition.certificateName = certificateName?.value
    definition.keys = keys.map(\.value)
    definition.methods = methods
    if let applications { definition.applications = applications }
    return definition
  }

  static var keysStandAlone: Bool { true }

  static var keys: [ConfigurationKey<WrittenCaller>] {
    ConfigurationKey(
      "name", ValueForm<String>.form("a name", readName).placed, isRequired: true, need: "a name",
      "The caller's name in the audit log."
    ) { $0.name = $1 }
    certificateName("spiffe", "a SPIFFE ID", "The one SPIFFE ID in its certificate.") { .spiffe($0) }
    certificateName("dns", "a DNS name", "A DNS name in its certificate.") { .dns($0) }
    certificateName("common_name", "a text", "The common name of a certificate without other names.") {
      .commonName($0)
    }
    ConfigurationKey("keys", .keyDigests, "Digests of keys, as `touchstone callers new-key` prints them.") {
      $0.keys = $1
    }
    ConfigurationKey("applications", .applications, "The applications for which the caller may call.") {
      $0.applications = $1
    }
    ConfigurationKey(
      "methods", .methods, isRequired: true, need: "methods: without them nothing is granted",
      "The methods that it may call."
    ) { $0.methods = $1 }
  }

  private static func certificateName(
    _ key: String, _ words: String, _ meaning: String, _ make: @escaping @Sendable (String) -> CertificateName
  ) -> ConfigurationKey<WrittenCaller> {
    let form = ValueForm<CertificateName>.form(words) { text throws(FormViolation) in
      let name = make(text)
      if let violation = name.violation { throw FormViolation(reason: violation) }
      return name
    }
    return ConfigurationKey(key, form.placed, meaning) { $0.certificateName = $0.certificateName ?? $1 }
  }

  private static func readName(_ name: String) throws(FormViolation) -> String {
    if let violation = CallerDefinition.violation(inName: name) { throw FormViolation(reason: violation) }
    if let path = CallerByPath(rawValue: name.lowercased()), path.rawValue != name {
      throw FormViolation(reason: "must be \(path.rawValue), in lower case: it is the caller \(path.words)")
    }
    return name
  }

  mutating func check(_ written: WrittenSection, with reader: inout SettingReader) {
    let names = written.entries.filter { ["spiffe", "dns", "common_name"].contains($0.key.name) }
    for entry in names.dropFirst() {
      reader.refuse(entry.key.place, "a caller is known by one of spiffe, dns, common_name")
    }
    let keys = written.entry("keys")
    let shown = names.first ?? keys
    if let path = name.flatMap({ CallerByPath(rawValue: $0.value) }) {
      if let shown {
        reader.refuse(shown.key.place, "\(path.rawValue) is the caller \(path.words), without certificate or key")
      }
    } else if let entry = names.first {
      identity = .certificate(entry.key.place)
    } else if let keys {
      identity = .key(keys.key.place)
    } else {
      reader.refuse(written.entry.value.place, "a caller needs one of spiffe, dns, common_name, or keys")
    }
    checkApplications(written, with: &reader)
  }

  private func checkApplications(_ written: WrittenSection, with reader: inout SettingReader) {
    let areNeeded = methods.contains(where: \.concernsApplications)
    guard let entry = written.entry("applications") else {
      if areNeeded {
        reader.refuse(
          written.entry.value.place, "a caller needs applications: a list, or \"*\" for all of them")
      }
      return
    }
    if !areNeeded, !methods.isEmpty {
      reader.refuse(entry.value.place, "applications have no effect: the methods concern none")
    }
  }
}

// MARK: Forms

extension ValueForm where Value: Sendable {
  fileprivate var placed: ValueForm<Placed<Value>> {
    ValueForm<Placed<Value>>(shape) { entry, name, reader in
      read(entry, name, &reader).map { Placed(value: $0, place: entry.value.place) }
    }
  }
}

extension ValueForm where Value == [Placed<CallerKeyDigest>] {
  fileprivate static var keyDigests: ValueForm {
    let count = CallerSection.maximumKeys
    return ValueForm(.list(.form("sha256: and 64 digits"), 1...count)) { entry, name, reader in
      var keys: Value = []
      for node in reader.elements(entry.value, name, 1...count) {
        guard let text = reader.text(node, "a key") else { continue }
        guard let digest = CallerKeyDigest(text) else {
          // Without the text, which may be the key itself.
          reader.refuse(node.place, "a key must be sha256: and 64 digits, as `touchstone callers new-key` prints it")
          continue
        }
        if keys.contains(where: { $0.value.isEqual(to: digest) }) {
          reader.refuse(node.place, "this key appears twice")
        }
        keys.append(Placed(value: digest, place: node.place))
      }
      return keys
    }
  }
}

extension ValueForm where Value == [MethodGrant] {
  /// Also with the package of this API before them.
  private static var names: [String] {
    MethodGrant.names + MethodGrant.names.map { "touchstone.v1.\($0)" }.filter { MethodGrant($0) != nil }
  }

  fileprivate static var methods: ValueForm {
    let count = MethodGrant.names.count
    return ValueForm(.everythingOr(.list(.word(names), 1...count))) { entry, name, reader in
      if entry.value.isEverything { return [.all] }
      var grants: [MethodGrant] = []
      for node in reader.elements(entry.value, name, 1...count, orAll: true) {
        guard let text = reader.text(node, "a method") else { continue }
        guard let grant = MethodGrant(text) else {
          let hint = suggestion(for: text, among: MethodGrant.names)
          reader.refuse(node.place, "there is no method \(text.debugDescription)\(hint)")
          continue
        }
        if grants.contains(grant) { reader.refuse(node.place, "\(text.debugDescription) appears twice") }
        grants.append(grant)
      }
      return grants
    }
  }
}

extension ValueForm where Value == ApplicationGrant {
  /// A list of applications, or "*" for all of them.
  static var applications: ValueForm {
    let count = CallerSection.maximumApplications
    return ValueForm(.everythingOr(.list(.form("an application"), 1...count))) { entry, name, reader in
      if entry.value.isEverything { return .all }
      var applications: [String] = []
      for node in reader.elements(entry.value, name, 1...count, orAll: true) {
        guard let text = reader.text(node, "an application") else { continue }
        if let violation = ApplicationID.violation(inSetting: text) {
          reader.refuse(node.place, "an application \(violation)")
        } else if text == YAMLNode.everything {
          reader.refuse(node.place, "\"*\" means all applications, so it must be the only one")
        } else if applications.contains(where: { Identifier.areEqual($0, text) }) {
          reader.refuse(node.place, "\(text.debugDescription) appears twice")
        }
        applications.append(text)
      }
      return .these(applications)
    }
  }
}

extension ValueShape {
  fileprivate static func everythingOr(_ list: ValueShape) -> ValueShape {
    .either([list, .word([YAMLNode.everything])])
  }
}

extension YAMLNode {
  fileprivate static let everything = "*"

  fileprivate var isEverything: Bool { if case .scalar(Self.everything) = content { true } else { false } }
}

extension SettingReader {
  /// The elements of a list; none, and an error noted, unless there are as many as there must be.
  fileprivate mutating func elements(
    _ node: YAMLNode, _ name: String, _ counts: ClosedRange<Int>, orAll: Bool = false
  ) -> [YAMLNode] {
    guard case .sequence(let nodes) = node.content, counts.contains(nodes.count) else {
      let orAll = orAll ? ", or \"\(YAMLNode.everything)\"" : ""
      refuse(node.place, "\(name) must be a list of \(counts.lowerBound) to \(counts.upperBound)\(orAll)")
      return []
    }
    return nodes
  }
}

extension CallerByPath {
  fileprivate var words: String {
    switch self {
    case .local: "in plaintext from this machine"
    case .plaintext: "in plaintext from beyond this machine"
    }
  }
}
