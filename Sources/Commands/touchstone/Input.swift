// Reads files that users name.

internal import TouchstoneServer

/// - Throws: `.noInput` if it cannot be read or is too large, `.corruptData` if it is not UTF-8.
func readText(_ path: String, maximumBytes: Int) throws(Failure) -> String {
  let bytes: [UInt8]
  do throws(FileError) {
    bytes = try readFile(path, maximumBytes: maximumBytes)
  } catch {
    throw Failure(kind: .noInput, places: ["\(path): \(error.message)"])
  }
  guard let text = String(validating: bytes, as: UTF8.self) else {
    throw Failure(kind: .corruptData, places: ["\(path): is not UTF-8"])
  }
  return text
}
