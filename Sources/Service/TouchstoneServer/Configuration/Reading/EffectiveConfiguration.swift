// A configuration with the tree of nodes that it was read from: the file's, with the values of variables and flags in
// place.

internal import SettingFiles

package struct EffectiveConfiguration {
  package private(set) var configuration = ProcessConfiguration()
  /// Each value has its place.
  private(set) var root = YAMLNode(content: .mapping([]), place: YAMLPlace(wholeOf: "default"))
  private(set) var path: String?

  /// The defaults.
  init() {}

  init(
    file path: String?, from trust: FileTrust, under given: [GivenValue], over defaults: [GivenValue] = []
  ) throws(ConfigurationErrors) {
    guard let path else {
      self = try EffectiveConfiguration([], of: nil, under: given, over: defaults)
      return
    }
    let identity = FileIdentity(of: path)
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try readFile(path, maximumBytes: ProcessConfiguration.maximumFileBytes, from: trust)
    } catch {
      throw ConfigurationErrors(path, error.message)
    }
    self = try EffectiveConfiguration(
      bytes, of: path, under: given, over: defaults, mayHoldSecrets: !isReadableByOthers(path))
    configuration.origin?.identity = identity
  }

  /// - Parameters:
  ///   - path: the file's name in errors; `nil`: there is no file.
  ///   - mayHoldSecrets: whether no other users can read the file.
  init(
    _ bytes: [UInt8], of path: String?, under given: [GivenValue] = [], over defaults: [GivenValue] = [],
    mayHoldSecrets: Bool = true
  ) throws(ConfigurationErrors) {
    var reader = SettingReader()
    self.path = path
    do throws(YAMLError) {
      var errors: [YAMLError] = []
      root = try YAMLNode.parse(bytes, errors: &errors)
      reader.refuse(errors)
    } catch {
      throw ConfigurationErrors(path, [error])
    }
    if let path, !mayHoldSecrets { try Self.requireNoSecret(in: root, path) }
    for value in given where root.hasRoom(for: value.path) {
      root.set(value.path[...], to: value.node, of: value.source)
    }
    for value in defaults where root.lacks(value.path[...]) {
      root.set(value.path[...], to: value.node, of: value.source)
    }
    configuration.apply(root, isOfFile: path != nil, with: &reader)
    guard reader.errors.isEmpty else { throw ConfigurationErrors(path, reader.errors) }
    configuration.origin = ConfigurationOrigin(path: path, identity: nil, places: reader.paths)
    configuration.warnings = reader.warnings.map {
      YAMLError(message: "warning: \($0.message)", place: $0.place).line(of: path ?? ConfigurationErrors.noFile)
    }
  }

  private static func requireNoSecret(in root: YAMLNode, _ path: String) throws(ConfigurationErrors) {
    for setting in ConfigurationTable.settings where setting.mayHoldSecret {
      guard let node = root.value(at: setting.path[...]), node.holdsSecret(setting.row) else { continue }
      let secret = setting.row.shape == .store ? "a password" : "a secret"
      throw ConfigurationErrors(
        path,
        "other users can read this file, and \(setting.name) holds \(secret): let only root and the service's group read it, "
          + "with `chown root:GROUP \(path) && chmod 0640 \(path)` (the package's group is touchstone)")
    }
  }

  mutating func take(_ keys: KeySource) {
    configuration.keys = keys
    root.set(["keys"], to: YAMLNode(content: .scalar(""), place: YAMLPlace(wholeOf: keys.name)), of: keys.name)
  }
}

extension YAMLNode {
  func value(at path: ArraySlice<String>) -> YAMLNode? {
    guard let name = path.first else { return self }
    guard case .mapping(let entries) = content else { return nil }
    return entries.first { $0.key.name == name }?.value.value(at: path.dropFirst())
  }

  /// Whether each section on the way to a value is a mapping or missing. Otherwise the file's mistake is to be
  /// reported.
  fileprivate func hasRoom(for path: [String]) -> Bool {
    (0..<path.count).allSatisfy { count in
      guard let section = value(at: path.prefix(count)) else { return true }
      if case .mapping = section.content { return true }
      return count == 1 && ConfigurationTable.rows.contains { $0.name == path[0] && $0.shape.takesText }
    }
  }

  /// Whether neither the value nor a single value in the place of its section is set.
  fileprivate func lacks(_ path: ArraySlice<String>) -> Bool {
    guard let name = path.first, case .mapping(let entries) = content else { return false }
    return entries.first { $0.key.name == name }?.value.lacks(path.dropFirst()) ?? true
  }

  /// Sets one value, and makes the mappings on the way to it. A single value on the way, such as `http: ADDRESS` before
  /// `http.public`, gives way to a mapping.
  mutating func set(_ path: ArraySlice<String>, to node: YAMLNode, of source: String) {
    guard let name = path.first else {
      self = node
      return
    }
    let place = YAMLPlace(wholeOf: source)
    var entries: [YAMLEntry] = []
    if case .mapping(let present) = content { entries = present }
    let index = entries.firstIndex { $0.key.name == name } ?? entries.endIndex
    if index == entries.endIndex {
      entries.append(
        YAMLEntry(key: YAMLKey(name: name, place: place), value: YAMLNode(content: .mapping([]), place: place)))
    }
    if path.count == 1 { entries[index].key.place = place }
    entries[index].value.set(path.dropFirst(), to: node, of: source)
    content = .mapping(entries)
  }
}
