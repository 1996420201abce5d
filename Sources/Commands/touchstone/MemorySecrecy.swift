// Keeps the memory of a process that holds keys from other processes.

internal import CProcess
internal import Glibc

enum MemorySecrecy {
  /// Allows debuggers, profilers and core files of the service's own user.
  private static let debuggingVariable = "TOUCHSTONE_DEBUGGABLE"

  /// Must be called before any secret is read. Otherwise a trap, or an abort in a library, would write the pepper and
  /// all keys into a core file or to its handler, and any process of the same user could read them.
  static func begin() {
    // Only "1", because files that set every variable leave some of them empty.
    guard getenv(debuggingVariable).map({ String(cString: $0) }) != "1" else {
      return printError("touchstone: \(debuggingVariable) is 1: core files and debuggers show keys")
    }
    var none = rlimit()
    // Both: a core file's handler that is a pipe ignores the limit, and a sandbox may forbid the other call.
    let isLimited = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0
    guard cprocess_become_undumpable() == 0, isLimited else {
      return printError("touchstone: a core file may show keys: \(String(cString: strerror(errno)))")
    }
  }
}
