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
    guard !isMisread(uri, as: settings) else {
      throw StoreOpenError(
        code: .unwritable,
        message:
          "the store's URI has an @ or a port where none can be: in its user and password write / as %2F, @ as %40 "
          + "and : as %3A")
    }
    return settings
  }

  /// A password that is not percent-encoded ends for libpq at its first "/" or "@". What follows then stands where hosts,
  /// ports and databases do, which people and logs may see.
  private static func isMisread(_ uri: String, as settings: [Setting]) -> Bool {
    if let scheme = uri.firstRange(of: "://") {
      let place = uri[scheme.upperBound...].prefix { $0 != "?" }
      let authority = place.prefix { $0 != "/" }
      let signs = place.count { $0 == "@" }
      if signs > 1 || signs > authority.count(where: { $0 == "@" }) { return true }
    }
    return settings.contains { setting in
      let values = setting.value.split(separator: ",", omittingEmptySubsequences: false)
      return switch setting.keyword {
      // One at the beginning is a Unix socket's without a file.
      case "host", "hostaddr": values.contains { $0.dropFirst().contains("@") }
      case "port": values.contains { !$0.isEmpty && UInt16($0) == nil }
      default: false
      }
    }
  }
}
