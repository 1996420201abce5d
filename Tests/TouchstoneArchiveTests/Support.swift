import Glibc
import StoreConformance
import TouchstonePolicy
import TouchstoneStore
import TouchstoneStoreSQLite

/// A directory that is gone afterwards, with all that is in it.
func withTemporaryDirectory<Value>(_ body: (String) async throws -> Value) async throws -> Value {
  var template = Array("/tmp/touchstone-archive-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { throw SystemFailure(number: errno) }
  let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  defer { Files.removeTree(path) }
  return try await body(path)
}

struct SystemFailure: Error {
  let number: Int32
}

enum Files {
  static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "rb") else { throw SystemFailure(number: errno) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
    return bytes
  }

  static func text(_ path: String) throws -> String { String(decoding: try read(path), as: UTF8.self) }

  static func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "wb") else { throw SystemFailure(number: errno) }
    defer { fclose(file) }
    let bytes = Array(text.utf8)
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw SystemFailure(number: errno) }
  }

  static func mode(_ path: String) throws -> mode_t {
    var status = stat()
    guard stat(path, &status) == 0 else { throw SystemFailure(number: errno) }
    return status.st_mode & 0o777
  }

  /// But for the lock that an archive keeps.
  static func names(in directory: String) throws -> [String] {
    guard let stream = opendir(directory) else { throw SystemFailure(number: errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let start = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
      let name = String(cString: start.assumingMemoryBound(to: CChar.self))
      if name != ".", name != "..", name != "archive.lock" { names.append(name) }
    }
    return names.sorted()
  }

  static func removeTree(_ path: String) {
    for name in (try? names(in: path)) ?? [] { removeTree("\(path)/\(name)") }
    remove(path)
  }
}

extension EventDraft {
  /// So many seconds after the samples' now.
  static func at(_ seconds: Int, profile: String = "alice") -> EventDraft {
    var event = EventDraft.sample(profile: profile)
    event.time = Sample.now + .seconds(seconds)
    return event
  }
}

/// A store, and the directory that its events are archived to.
func withStore<Value>(_ body: (SQLiteStore, _ data: String, _ archive: String) async throws -> Value) async throws
  -> Value
{
  try await withTemporaryDirectory { directory in
    let store = try SQLiteStore.open(directory: "\(directory)/data")
    do {
      let value = try await body(store, "\(directory)/data", "\(directory)/archive")
      await store.close()
      return value
    } catch {
      await store.close()
      throw error
    }
  }
}
