// One archive file, written and read line by line.

internal import Glibc
internal import TouchstoneStore

/// Writes lines through a buffer; nothing is durable before `finish`.
final class ArchiveFileWriter {
  private static let bufferByteCount = 256 * 1_024
  static let ownerOnly: mode_t = 0o600

  private let file: FileDescriptor
  private var buffer: [UInt8] = []

  init(creating path: String) throws(ArchiveError) {
    file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: Self.ownerOnly)
    buffer.reserveCapacity(Self.bufferByteCount)
  }

  func write(_ line: ArchiveLine) throws(ArchiveError) {
    buffer += line.encoded
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  /// All of it is on the disk, and read from there the next time.
  func finish() throws(ArchiveError) {
    try flush()
    guard fsync(file.number) == 0 else { throw .unusable(file.path, errno) }
    posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED)
  }

  private func flush() throws(ArchiveError) {
    var written = 0
    while written < buffer.count {
      let count = buffer.withUnsafeBytes { bytes in
        Glibc.write(file.number, bytes.baseAddress! + written, bytes.count - written)
      }
      guard count >= 0 || errno == EINTR else { throw .unusable(file.path, errno) }
      written += max(0, count)
    }
    buffer.removeAll(keepingCapacity: true)
  }
}

final class ArchiveFileReader {
  private static let chunkByteCount = 256 * 1_024
  /// Many times the longest event there is.
  private static let maximumLineBytes = 4 << 20
  /// Two numbers and their names, with room.
  private static let maximumTrailerBytes = 256

  private let file: FileDescriptor
  private var chunk = [UInt8](repeating: 0, count: chunkByteCount)
  /// Read, and not taken yet: from `position` on.
  private var buffer: [UInt8] = []
  private var position = 0
  private var lineNumber = 0

  init(opening path: String) throws(ArchiveError) {
    // A pipe would never open, and a link leads elsewhere.
    file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try file.requireFile()
  }

  /// `nil` at the end.
  func next() throws(ArchiveError) -> ArchiveLine? {
    var searched = position
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        lineNumber += 1
        defer { position = end + 1 }
        guard let line = ArchiveLine(Array(buffer[position..<end])) else {
          throw .damaged(file.path, "line \(lineNumber) is not as it was written")
        }
        return line
      }
      searched = buffer.count - position
      guard searched <= Self.maximumLineBytes else { throw .damaged(file.path, "line \(lineNumber + 1) has no end") }
      buffer.removeFirst(position)
      position = 0
      guard try fill() else {
        guard buffer.isEmpty else { throw .damaged(file.path, "line \(lineNumber + 1) has no end") }
        return nil
      }
    }
  }

  /// The last line, where it is a trailer's length at most; before the first one is read.
  func last() throws(ArchiveError) -> ArchiveLine? {
    let size = lseek(file.number, 0, SEEK_END)
    var tail = [UInt8](repeating: 0, count: Self.maximumTrailerBytes)
    let count = pread(file.number, &tail, tail.count, max(0, size - off_t(tail.count)))
    guard size >= 0, count >= 0, lseek(file.number, 0, SEEK_SET) == 0 else { throw .unusable(file.path, errno) }
    let lines = tail[..<count].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.count > 1, lines.last?.isEmpty == true else { return nil }
    return ArchiveLine(Array(lines[lines.count - 2]))
  }

  /// False at the end.
  private func fill() throws(ArchiveError) -> Bool {
    while true {
      let count = read(file.number, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unusable(file.path, errno) }
      buffer += chunk[..<count]
      return count > 0
    }
  }
}

/// A whole file, in its order: header, events, trailer.
enum ArchiveFile {
  struct Range: Hashable {
    var start: EventChain.Head
    var end: EventChain.Head
  }

  /// Hands out the events. Header and trailer must say what they are.
  ///
  /// - Parameter begin: is told after which event they begin.
  static func read(
    _ path: String, begin: (EventChain.Head) throws(ArchiveError) -> Void = { _ in },
    _ take: (ArchivedEvent) throws(ArchiveError) -> Void
  ) throws(ArchiveError) -> Range {
    let reader = try ArchiveFileReader(opening: path)
    guard case .header(let start)? = try reader.next() else { throw .damaged(path, "has no header") }
    try begin(start)
    var end = start
    while case let line? = try reader.next() {
      switch line {
      case .header: throw .damaged(path, "has two headers")
      case .event(let event):
        try take(event)
        end = EventChain.Head(sequence: event.record.sequence, hash: event.record.hash)
      case .trailer(let noted):
        guard noted == end, try reader.next() == nil else { throw .damaged(path, "does not end as it says") }
        return Range(start: start, end: end)
      }
    }
    throw .damaged(path, "is cut off")
  }

  /// What header and trailer say, whatever is between them. `nil`: one of them is not there.
  static func statedRange(_ path: String) throws(ArchiveError) -> Range? {
    let reader = try ArchiveFileReader(opening: path)
    guard case .trailer(let end)? = try reader.last() else { return nil }
    guard case .header(let start)? = try? reader.next() else { return nil }
    return Range(start: start, end: end)
  }

  /// By itself: every event follows from the one before.
  static func verify(_ path: String) throws(ArchiveError) -> Range {
    var verifier: EventChainVerifier?
    return try read(path, begin: { verifier = EventChainVerifier(continuing: $0) }) { event throws(ArchiveError) in
      do throws(EventChainVerifier.Fault) {
        try verifier?.verify(event.record)
      } catch {
        throw .damaged(path, "\(error)")
      }
    }
  }
}
