// The log of a process: nothing waits for its reader, and nothing is lost without a word.

import Glibc
import Logging
import Testing

@testable import TouchstoneServer

@Suite("The log of a process")
struct LogOutputTests {
  /// A pipe, whose reader is the test.
  private struct Pipe {
    let read: Int32
    let write: Int32

    init() throws {
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      (read, write) = (ends[0], ends[1])
    }

    /// fcntl(2)'s F_SETPIPE_SZ, which Glibc's module lacks.
    private static let setSize: Int32 = 1_031

    /// - Parameter byteCount: a power of two, at least a page's 4,096.
    func hold(_ byteCount: Int32) throws {
      try #require(fcntl(write, Self.setSize, byteCount) == byteCount)
    }

    /// Returns when no more fits. Linux tells of no such event.
    func waitUntilFull() {
      var end = pollfd(fd: write, events: Int16(POLLOUT), revents: 0)
      while poll(&end, 1, 0) > 0 { usleep(1_000) }
    }

    /// The text in the pipe; waits for the first byte.
    func text() -> String {
      var bytes = [UInt8](repeating: 0, count: 1 << 18)
      let count = Glibc.read(read, &bytes, bytes.count)
      return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
  }

  @Test("Lines come in their order, and a flush returns when they are written")
  func order() throws {
    let pipe = try Pipe()
    let output = LogOutput(descriptor: pipe.write)
    let logger = output.logger
    for number in 0..<100 { logger.info("line \(number)") }
    output.flush()
    let lines = pipe.text().split(separator: "\n")
    #expect(lines.count == 100)
    #expect(lines.enumerated().allSatisfy { $1.hasSuffix(" info line \($0)") })
  }

  @Test("A warning is written without a flush, and the lines before it")
  func urgent() throws {
    let pipe = try Pipe()
    let logger = LogOutput(descriptor: pipe.write).logger
    logger.info("first")
    logger.warning("second")
    var text = ""
    while !text.contains("second") { text += pipe.text() }
    #expect(text.contains("first"))
  }

  @Test("Level and format follow the configuration, for loggers that are there, too")
  func configuration() throws {
    let pipe = try Pipe()
    var settings = LogSettings()
    settings.level = .warning
    let output = LogOutput(settings, descriptor: pipe.write)
    let logger = output.logger
    logger.info("not written")
    settings.level = .info
    settings.format = .json
    output.configure(settings)
    logger.info("written", metadata: ["k": "v"])
    output.flush()
    let text = pipe.text()
    #expect(
      text.hasPrefix("{\"time\":") && text.hasSuffix(",\"level\":\"info\",\"message\":\"written\",\"k\":\"v\"}\n"))
    #expect(text.split(separator: "\n").count == 1)
  }

  @Test("What is not logged is not formatted")
  func formatting() throws {
    let pipe = try Pipe()
    var formatted = 0
    func text() -> String {
      formatted += 1
      return "text"
    }
    LogOutput(descriptor: pipe.write).logger.debug("\(text())")
    #expect(formatted == 0)
  }

  @Test("A reader that stops costs lines, not time; and when it goes on, one line says how many")
  func standstill() throws {
    let pipe = try Pipe()
    try pipe.hold(4_096)
    let output = LogOutput(descriptor: pipe.write)
    let logger = output.logger
    // Longer than the pipe: the writer stands in it, and takes no other line while these are logged.
    let long = Logger.MetadataValue.string(String(repeating: "y", count: 4_000))
    logger.info("first", metadata: ["a": long, "b": long])
    pipe.waitUntilFull()
    let line = String(repeating: "x", count: 1_000)
    let count = 2 * LogBuffer.maximumBytes / 1_000
    for _ in 0..<count { logger.info("\(line)") }
    let dropped = output.droppedLines
    #expect(dropped > 0)
    try pipe.hold(1 << 18)
    var text = ""
    while !text.contains("log lines were dropped") { text += pipe.text() }
    while !text.hasSuffix("\n") { text += pipe.text() }
    #expect(text.contains("warning log lines were dropped: "))
    #expect(text.contains(" lines=\(dropped)\n"))
    #expect(text.split(separator: "\n").count { $0.contains(line) } == count - dropped)
  }
}

@Suite("The buffer of the log")
struct LogBufferTests {
  @Test("The writer is told of the first line, and takes all")
  func taking() {
    var buffer = LogBuffer()
    #expect(buffer.add([1, 2]) == .first)
    #expect(buffer.add([3]) == .further)
    var lines: [UInt8] = [9]
    #expect(buffer.take(into: &lines) == 0)
    #expect(lines == [1, 2, 3])
    #expect(buffer.add([4]) == .first)
  }

  @Test("What does not fit is dropped as a whole, and counted once")
  func bound() {
    var buffer = LogBuffer()
    #expect(buffer.add([UInt8](repeating: 0, count: LogBuffer.maximumBytes - 1)) == .first)
    #expect(buffer.add([1, 2]) == .dropped)
    #expect(buffer.add([1]) == .further)
    var lines: [UInt8] = []
    #expect(buffer.take(into: &lines) == 1)
    #expect(lines.count == LogBuffer.maximumBytes)
    #expect(buffer.take(into: &lines) == 0)
    #expect(lines.isEmpty)
  }
}
