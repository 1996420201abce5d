// One archive file, written and read line by line.

internal import Glibc
internal import TouchstoneStore

/// Writes lines through a buffer; nothing is durable before `finish`.
final class ArchiveFileWriter {
  private static let bufferByteCount = 256 * 1_024
  static let ownerOnly: mode_t = 0o600

  /// Also for reading back what was written.
  let file: FileDescriptor
  private var buffer: [UInt8] = []

  init(creating path: String) throws(ArchiveError) {
    file = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: Self.ownerOnly)
    buffer.reserveCapacity(Self.bufferByteCount)
  }

  func write(_ line: ArchiveLine) throws(ArchiveError) {
    buffer += line.encoded
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  /// Writes everything to the disk, so that the next reading comes from there.
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

/// Reads lines. Readers of one descriptor do not disturb each other.
final class ArchiveFileReader {
  private static let chunkByteCount = 256 * 1_024
  /// Many times the longest event.
  private static let maximumLineBytes = 4 << 20
  /// Two numbers and their names, with room.
  private static let maximumTrailerBytes = 256

  private let file: FileDescriptor
  private var offset: off_t = 0
  private var chunk = [UInt8](repeating: 0, count: chunkByteCount)
  /// Bytes that were read; those from `position` on are not used yet.
  private var buffer: [UInt8] = []
  private var position = 0
  private var lineNumber = 0

  init(_ file: FileDescriptor) {
    self.file = file
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

  /// Reads the last line, if it is no longer than a trailer.
  func last() throws(ArchiveError) -> ArchiveLine? {
    let size = lseek(file.number, 0, SEEK_END)
    var tail = [UInt8](repeating: 0, count: Self.maximumTrailerBytes)
    let count = pread(file.number, &tail, tail.count, max(0, size - off_t(tail.count)))
    guard size >= 0, count >= 0 else { throw .unusable(file.path, errno) }
    let lines = tail[..<count].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.count > 1, lines.last?.isEmpty == true else { return nil }
    return ArchiveLine(Array(lines[lines.count - 2]))
  }

  /// False at the end.
  private func fill() throws(ArchiveError) -> Bool {
    while true {
      let count = pread(file.number, &chunk, chunk.count, offset)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unusable(file.path, errno) }
      offset += off_t(count)
      buffer += chunk[..<count]
      return count > 0
    }
  }
}

/// A whole file, in order: header, events, trailer.
enum ArchiveFile {
  struct Range: Hashable {
    var start: EventChain.Head
    var end: EventChain.Head
  }

  static func open(_ path: String) throws(ArchiveError) -> FileDescriptor {
    // Opening a pipe could block, and a link could lead elsewhere.
    let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try file.requireFile()
    return file
  }

  /// Reads the events, and checks them against header and trailer.
  ///
  /// - Parameter begin: receives the event after which they begin.
  static func read(
    _ file: FileDescriptor, begin: (EventChain.Head) throws(ArchiveError) -> Void = { _ in },
    _ take: (ArchivedEvent) throws(ArchiveError) -> Void
  ) throws(ArchiveError) -> Range {
    let reader = ArchiveFileReader(file)
    guard case .header(let start)? = try reader.next() else { throw .damaged(file.path, "has no header") }
    try begin(start)
    var end = start
    while case let line? = try reader.next() {
      switch line {
      case .header: throw .damaged(file.path, "has two headers")
      case .event(let event):
        try take(event)
        end = EventChain.Head(sequence: event.record.sequence, hash: event.record.hash)
      case .trailer(let noted):
        guard noted == end, try reader.next() == nil else { throw .damaged(file.path, "does not end as it says") }
        return Range(start: start, end: end)
      }
    }
    throw .damaged(file.path, "is cut off")
  }

  /// Returns the contents of header and trailer without reading the lines between them; `nil` if one is missing.
  static func statedRange(_ file: FileDescriptor) throws(ArchiveError) -> Range? {
    guard case .trailer(let end)? = try ArchiveFileReader(file).last() else { return nil }
    guard case .header(let start)? = try? ArchiveFileReader(file).next() else { return nil }
    return Range(start: start, end: end)
  }

  /// Verifies one file: every event must follow from the previous one.
  ///
  /// - Parameters:
  ///   - take: receives each event after it was verified.
  ///   - begin: receives the event after which they begin.
  static func verify(
    _ file: FileDescriptor, _ take: (ArchivedEvent) throws(ArchiveError) -> Void = { _ in },
    begin: (EventChain.Head) throws(ArchiveError) -> Void = { _ in }
  ) throws(ArchiveError) -> Range {
    var verifier: EventChainVerifier?
    return try read(file) { start throws(ArchiveError) in
      verifier = EventChainVerifier(continuing: start)
      try begin(start)
    } _: { event throws(ArchiveError) in
      do throws(EventChainVerifier.Fault) {
        try verifier?.verify(event.record)
      } catch {
        throw .damaged(file.path, "\(error)")
      }
      try take(event)
    }
  }
}
