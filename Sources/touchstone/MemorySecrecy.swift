// The memory of a process that holds keys is nobody else's to read.

internal import CProcess
internal import Glibc

enum MemorySecrecy {
  /// For debuggers, profilers and core files of the service's own user.
  private static let debuggingVariable = "TOUCHSTONE_DEBUGGABLE"

  /// To be called before anything secret is read. A trap, or an abort in a library, would else write the pepper and all keys
  /// into a core file, or hand them to whatever handles such files; and any process of the same user could read them.
  static func begin() {
    // Nothing else: files that set all there is leave some of it empty.
    guard getenv(debuggingVariable).map({ String(cString: $0) }) != "1" else {
      return printError("touchstone: \(debuggingVariable) is 1: core files and debuggers show keys")
    }
    var none = rlimit()
    // Both: a handler of core files that is a pipe asks for no limit, and the other one may be forbidden by a sandbox.
    let isLimited = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0
    guard cprocess_become_undumpable() == 0, isLimited else {
      return printError("touchstone: a core file may show keys: \(String(cString: strerror(errno)))")
    }
  }
}
