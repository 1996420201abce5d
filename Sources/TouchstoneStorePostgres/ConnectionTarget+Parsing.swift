// What a connection string says: by libpq, and without what it would misread.

internal import CPostgres
internal import TouchstoneStore

extension ConnectionTarget {
  /// What it says, and nothing from the environment.
  static func parse(_ uri: String) throws(StoreOpenError) -> [Setting] {
    var message: UnsafeMutablePointer<CChar>?
    defer { if let message { PQfreemem(message) } }
    guard let options = PQconninfoParse(uri, &message) else {
      // The message may quote what stands where a password is expected.
      throw StoreOpenError(code: .unwritable, message: "the store's URI is not one that libpq reads: check its form")
    }
    defer { PQconninfoFree(options) }
    var settings: [Setting] = []
    var index = 0
    while let keyword = options[index].keyword {
      // An empty value is none to libpq, which then takes the environment's.
      if let value = options[index].val, value.pointee != 0 {
        let isSecret = options[index].dispchar.map { String(cString: $0) } == "*"
        settings.append(
          Setting(keyword: String(cString: keyword), value: String(cString: value), isSecret: isSecret))
      }
      index += 1
    }
    return settings
  }
}
