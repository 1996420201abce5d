// Whole files, read and written.

internal import DispatchRPC
internal import Glibc

enum TextFile {
  static func read(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      guard count > 0 else { break }
      bytes += buffer.prefix(count)
    }
    return ferror(file) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
  }

  static func write(_ text: String, to path: String) throws(LoadError) {
    guard let file = fopen(path, "w") else { throw .cannotWrite(path) }
    var text = text
    let written = text.withUTF8 { fwrite($0.baseAddress, 1, $0.count, file) == $0.count }
    guard fclose(file) == 0, written else { throw .cannotWrite(path) }
  }
}

/// Why there is nothing to report. The exit codes are those of sysexits.h.
struct LoadError: Error, CustomStringConvertible {
  let exitCode: Int32
  let description: String

  static func usage(_ description: String) -> LoadError {
    LoadError(exitCode: 64, description: description)
  }

  /// Throws if a status shows that no service was reached, or that it is another kind of service.
  static func check(_ code: RPCCode, _ message: String, of target: String) throws(LoadError) {
    switch code {
    case .unavailable, .deadlineExceeded: throw .unreachable("\(target) cannot be reached: \(code): \(message)")
    case .unimplemented: throw .unreachable("\(target) is no Touchstone of this version: \(code): \(message)")
    default: break
    }
  }

  /// The error that `errno` names.
  static func unreadable(_ path: String) -> LoadError {
    usage("\(path) cannot be read: \(String(cString: strerror(errno)))")
  }

  static func unreachable(_ description: String) -> LoadError {
    LoadError(exitCode: 69, description: description)
  }

  fileprivate static func cannotWrite(_ path: String) -> LoadError {
    LoadError(exitCode: 73, description: "\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}
