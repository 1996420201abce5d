// `store:` of the configuration: the place of the records.

package import TouchstoneStore

package enum StoreSetting: Sendable {
  /// A store in the data directory.
  case directory(any DirectoryStoreKind)
  case server(any ServerStoreKind, StorePlace)

  /// The default.
  package static let standard = StoreSetting.directory(StoreRegistry.directoryKind)

  struct Malformed: Error {
    /// Follows the setting's name. Does not quote the text, which may hold a password.
    var message: String
  }

  init(parsing text: String) throws(Malformed) {
    if text == StoreRegistry.directoryKind.name {
      self = .standard
      return
    }
    for kind in StoreRegistry.serverKinds {
      do throws(StoreOpenError) {
        guard let place = try kind.place(ofURI: text) else { continue }
        self = .server(kind, place)
        return
      } catch {
        throw Malformed(message: "must be \(StoreRegistry.settingForm): \(error.message)")
      }
    }
    throw Malformed(message: "must be \(StoreRegistry.settingForm)")
  }

  /// Reads the value of a flag.
  private init(parsing text: String, from name: String, kind: Failure.Kind) throws(Failure) {
    do throws(Malformed) {
      try self.init(parsing: text)
    } catch {
      throw Failure(kind: kind, message: "\(name) \(error.message)")
    }
  }

  /// Reads a flag's value, which other users can see.
  package static func visible(_ text: String, from flag: String) throws(Failure) -> StoreSetting {
    let setting = try StoreSetting(parsing: text, from: flag, kind: .usage)
    guard setting.hasSecret else { return setting }
    throw .passwordInFlag(flag, variable: "TOUCHSTONE_STORE")
  }

  package var hasSecret: Bool {
    switch self {
    case .directory: false
    case .server(_, let place): place.hasSecret
    }
  }

  /// Whether each process has a database of its own.
  var isInDataDirectory: Bool {
    switch self {
    case .directory: true
    case .server: false
    }
  }

  func location(dataDirectory: String) -> StoreLocation {
    switch self {
    case .directory(let kind): StoreLocation(kind: kind, place: StorePlace(directory: dataDirectory))
    case .server(let kind, let place): StoreLocation(kind: kind, place: place)
    }
  }
}

extension StoreSetting: Equatable {
  package static func == (left: StoreSetting, right: StoreSetting) -> Bool {
    switch (left, right) {
    case (.directory(let left), .directory(let right)): left.name == right.name
    case (.server(let left, let place), .server(let right, let other)): left.name == right.name && place == other
    case (.directory, .server), (.server, .directory): false
    }
  }
}
