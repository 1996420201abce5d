// The reasons why an archive could not be written, read or trusted.

internal import TouchstoneStore

public struct ArchiveError: Error, Sendable, Hashable {
  public enum Code: UInt8, Sendable, Hashable {
    /// The directory or a file in it cannot be read or written.
    case unusable
    /// A file is not as it was written, or belongs to another log.
    case damaged
    /// Another process works on the directory.
    case inUse
    /// The store failed.
    case store
    /// Events of each file were erased while it was written.
    case erased
  }

  public var code: Code
  /// One line: which file, what is wrong, what to do.
  public var message: String

  init(code: Code, message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: StoreError) {
    self.init(code: .store, message: "the store: \(error.message)")
  }

  package static let anotherArchives = ArchiveError(code: .inUse, message: "another process archives this log now")

  static let erased = ArchiveError(
    code: .erased,
    message: "events of each file were erased while it was written: it is tried again; if that goes on, see the events "
      + "profile.erased for the caller that erases so many")

  static func damaged(_ path: String, _ finding: String) -> ArchiveError {
    ArchiveError(code: .damaged, message: "\(path): \(finding)")
  }
}
