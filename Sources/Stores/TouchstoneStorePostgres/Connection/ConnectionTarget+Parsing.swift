// Parses connection strings with libpq, and refuses those that libpq would misread.

internal import CPostgres
internal import TouchstoneStore

extension ConnectionTarget {
  /// The settings in the string, without the environment.
  static func parse(_ uri: String) throws(StoreOpenError) -> [Setting] {
    var message: UnsafeMutablePointer<CChar>?
    defer { if let message { PQfreemem(message) } }
    guard let options = PQconninfoParse(uri, &message) else {
      // The message may quote the password.
      throw StoreOpenError(code: .unwritable, message: "the store's URI is not one that libpq reads: check its form")
    }
    defer { PQconninfoFree(options) }
    var settings: [Setting] = []
    var index = 0
    while let keyword = options[index].keyword {
      // libpq ignores an empty value and takes the environment's.
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
    try requireWritableSessions(settings)
    return settings
  }

  /// Sessions in which libpq finds that the server takes writes, or is no standby.
  private static let writableSessions = ["read-write", "primary"]

  private static func requireWritableSessions(_ settings: [Setting]) throws(StoreOpenError) {
    guard let sessions = settings.first(where: { $0.keyword == "target_session_attrs" })?.value,
      !writableSessions.contains(sessions)
    else { return }
    throw StoreOpenError(
      code: .unwritable,
      message:
        "the store's URI has target_session_attrs=\(sessions), which also connects to a standby, whose answers may be old "
        + "(a revoked token would be active): use read-write or primary, or leave it out")
  }

  /// For libpq, a password that is not percent-encoded ends at its first "/" or "@". The rest then appears as a host,
  /// port or database, which people and logs may show.
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
      // An "@" at the beginning is an abstract Unix socket, without a file.
      case "host", "hostaddr": values.contains { $0.dropFirst().contains("@") }
      case "port": values.contains { !$0.isEmpty && UInt16($0) == nil }
      default: false
      }
    }
  }
}
