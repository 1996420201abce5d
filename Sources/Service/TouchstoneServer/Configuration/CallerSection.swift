// `callers:` of the configuration: the callers, how the service identifies them, and their grants.

internal import SettingFiles
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneService

struct CallerSection {
  enum Key: String, CaseIterable {
    case name
    case spiffe
    case dns
    case commonName = "common_name"
    case keys
    case applications
    case methods
  }

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

  /// Compares the callers with the transport: a certificate identifies a caller only if the service requests certificates.
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

  // MARK: One caller

  private mutating func read(_ node: YAMLNode, with reader: inout SettingReader) {
    guard let entries = reader.mapping(node, "a caller", of: Key.names) else { return }
    func value(_ key: Key) -> YAMLNode? { entries.first { $0.key.name == key.rawValue }?.value }
    var caller = CallerDefinition(name: "")
    if let name = value(.name) {
      if let text = readName(name, with: &reader) { caller.name = text }
    } else {
      reader.refuse(node.place, "a caller needs a name")
    }
    readIdentity(entries, into: &caller, node.place, with: &reader)
    if let methods = value(.methods) {
      caller.methods = Self.readMethods(methods, with: &reader)
    } else {
      reader.refuse(node.place, "a caller needs methods: without them nothing is granted")
    }
    readApplications(value(.applications), into: &caller, node.place, with: &reader)
    callers.append(caller)
  }

  private func readName(_ node: YAMLNode, with reader: inout SettingReader) -> String? {
    guard let name = reader.text(node, "name") else { return nil }
    if let violation = CallerDefinition.violation(inName: name) {
      reader.refuse(node.place, "name \(violation)")
      return nil
    }
    if let path = CallerByPath(rawValue: name.lowercased()), path.rawValue != name {
      reader.refuse(node.place, "name must be \(path.rawValue), in lower case: it is the caller \(path.words)")
    }
    // ASCII, so that equal ones are equal in bytes.
    if callers.contains(where: { $0.name == name }) {
      reader.refuse(node.place, "there are two callers \(name.debugDescription)")
    }
    return name
  }

  private mutating func readIdentity(
    _ entries: [YAMLEntry], into caller: inout CallerDefinition, _ place: YAMLPlace, with reader: inout SettingReader
  ) {
    let names = entries.filter { Self.certificateName($0.key.name, "") != nil }
    for entry in names.dropFirst() {
      reader.refuse(entry.key.place, "a caller is known by one of spiffe, dns, common_name")
    }
    if let entry = names.first, let text = reader.text(entry.value, entry.key.name) {
      caller.certificateName = readCertificateName(entry, text, with: &reader)
    }
    let keys = entries.first { $0.key.name == Key.keys.rawValue }
    if let keys { caller.keys = readKeys(keys.value, with: &reader) }

    let shown = names.first ?? keys
    if let path = CallerByPath(rawValue: caller.name) {
      if let shown {
        reader.refuse(shown.key.place, "\(path.rawValue) is the caller \(path.words), without certificate or key")
      }
    } else if shown == nil {
      reader.refuse(place, "a caller needs one of spiffe, dns, common_name, or keys")
    } else if let entry = names.first {
      certificatePlaces.append(entry.key.place)
    } else if let keys {
      keyOnlyPlaces.append(keys.key.place)
    }
  }

  private static func certificateName(_ key: String, _ text: String) -> CertificateName? {
    switch Key(rawValue: key) {
    case .spiffe: .spiffe(text)
    case .dns: .dns(text)
    case .commonName: .commonName(text)
    default: nil
    }
  }

  private func readCertificateName(
    _ entry: YAMLEntry, _ text: String, with reader: inout SettingReader
  ) -> CertificateName? {
    guard let name = Self.certificateName(entry.key.name, text) else { return nil }
    if let violation = name.violation {
      reader.refuse(entry.value.place, "\(entry.key.name) \(violation)")
    } else if let other = callers.first(where: { $0.certificateName?.isSame(as: name) == true }) {
      reader.refuse(entry.value.place, "is \(other.name.debugDescription)'s: a certificate names one caller")
    }
    return name
  }

  private func readKeys(_ node: YAMLNode, with reader: inout SettingReader) -> [CallerKeyDigest] {
    guard let nodes = Self.readList(node, Key.keys, atMost: Self.maximumKeys, with: &reader) else { return [] }
    var keys: [CallerKeyDigest] = []
    for node in nodes {
      guard let text = reader.text(node, "a key") else { continue }
      guard let digest = CallerKeyDigest(text) else {
        // Without the text, which may be the key itself.
        reader.refuse(node.place, "a key must be sha256: and 64 digits, as `touchstone callers new-key` prints it")
        continue
      }
      if (callers.flatMap(\.keys) + keys).contains(where: { $0.isEqual(to: digest) }) {
        reader.refuse(node.place, "this key appears twice")
      }
      keys.append(digest)
    }
    return keys
  }

  // MARK: Grants

  private static func readMethods(_ node: YAMLNode, with reader: inout SettingReader) -> [MethodGrant] {
    if isEverything(node) { return [.all] }
    guard let nodes = readList(node, Key.methods, atMost: MethodGrant.names.count, with: &reader) else { return [] }
    var grants: [MethodGrant] = []
    for node in nodes {
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

  private func readApplications(
    _ node: YAMLNode?, into caller: inout CallerDefinition, _ place: YAMLPlace, with reader: inout SettingReader
  ) {
    let areNeeded = caller.methods.contains(where: \.concernsApplications)
    guard let node else {
      if areNeeded { reader.refuse(place, "a caller needs applications: a list, or \"*\" for all of them") }
      return
    }
    if !areNeeded, !caller.methods.isEmpty {
      reader.refuse(node.place, "applications have no effect: the methods concern none")
    }
    caller.applications = Self.isEverything(node) ? .all : .these(Self.readApplicationList(node, with: &reader))
  }

  private static func readApplicationList(_ node: YAMLNode, with reader: inout SettingReader) -> [String] {
    guard let nodes = readList(node, Key.applications, atMost: maximumApplications, with: &reader) else { return [] }
    var applications: [String] = []
    for node in nodes {
      guard let text = reader.text(node, "an application") else { continue }
      if let violation = ApplicationID.violation(in: text) {
        reader.refuse(node.place, "an application \(violation)")
      } else if text == everything {
        reader.refuse(node.place, "\"*\" means all applications, so it must be the only one")
      } else if applications.contains(where: { Identifier.areEqual($0, text) }) {
        reader.refuse(node.place, "\(text.debugDescription) appears twice")
      }
      applications.append(text)
    }
    return applications
  }

  static let everything = "*"

  private static func isEverything(_ node: YAMLNode) -> Bool {
    if case .scalar(everything) = node.content { true } else { false }
  }

  /// Returns `nil` and notes an error unless the value is a list with at least one element.
  private static func readList(
    _ node: YAMLNode, _ key: Key, atMost count: Int, with reader: inout SettingReader
  ) -> [YAMLNode]? {
    guard case .sequence(let nodes) = node.content, (1...count).contains(nodes.count) else {
      let orAll = key == .keys ? "" : ", or \"*\""
      reader.refuse(node.place, "\(key.rawValue) must be a list of 1 to \(count)\(orAll)")
      return nil
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
