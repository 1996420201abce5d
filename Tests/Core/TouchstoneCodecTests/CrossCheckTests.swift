// The codec against Google's implementation of protobuf in Python: thousands of random messages of every type.

import TestSupport
import CodecMessages
import Foundation
import Testing

@testable import TouchstoneCodec

@Suite struct CrossCheckTests {
  @Test func pythonAndSwiftReadAndWriteTheSame() throws {
    let seed = Int.random(in: 0..<1_000_000)
    try inTemporaryDirectory { directory in
      let (sent, received) = (directory.appending(path: "sent").path, directory.appending(path: "received").path)
      let generated = try crossCheck("generate", "--seed", "\(seed)", "--out", sent)
      try #require(generated.status == 0, "seed \(seed): \(generated.output)")
      try answer(messagesIn: sent, to: received)
      let verified = try crossCheck("verify", "--sent", sent, "--received", received)
      #expect(verified.status == 0, "seed \(seed): \(verified.output)")
    }
  }

  /// The fuzzer's inputs: the seeds, what it once found, and its corpus where TOUCHSTONE_FUZZ_CORPUS names that.
  @Test func pythonReadsWhatFuzzingFoundAsSwiftDoes() throws {
    let fuzz = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fuzz")
    var directories = [fuzz.appending(path: "Seeds/codec"), fuzz.appending(path: "Findings/codec")]
    if let corpus = ProcessInfo.processInfo.environment["TOUCHSTONE_FUZZ_CORPUS"] {
      directories.append(URL(filePath: corpus).appending(path: "codec"))
    }
    var inputs = Blobs()
    for directory in directories {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [] {
        let input = CodecInput(Array(try Data(contentsOf: directory.appending(path: name))))
        inputs.append(Data(input.type.name.utf8))
        inputs.append(Data(input.message))
        inputs.append(Data())
      }
    }
    #expect(!inputs.data.isEmpty)
    try inTemporaryDirectory { directory in
      let (sent, received) = (directory.appending(path: "sent").path, directory.appending(path: "received").path)
      try inputs.data.write(to: URL(filePath: sent))
      try answer(messagesIn: sent, to: received)
      let verified = try crossCheck("verify", "--any", "--sent", sent, "--received", received)
      #expect(verified.status == 0, "\(verified.output)")
    }
  }

  private func inTemporaryDirectory(_ body: (URL) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "crosscheck-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try body(directory)
  }

  /// Decodes every message in one file and writes to the other what it saw, as crosscheck.py describes it.
  private func answer(messagesIn sent: String, to received: String) throws {
    let types = Dictionary(uniqueKeysWithValues: AnyMessageType.all.map { ($0.name, $0) })
    let coder = MessageCoder(limits: .answers)
    var blobs = Blobs(reading: try Data(contentsOf: URL(filePath: sent)))
    var answers = Blobs()
    while let name = blobs.next(), let bytes = blobs.next(), let pythonsJSON = blobs.next() {
      let type = try #require(types[String(decoding: name, as: UTF8.self)])
      answers.append(name)
      do {
        let (description, bytes, json) = try type.roundTrip([UInt8](bytes), coder)
        answers.append(Data("accepted".utf8))
        for blob in [Data(description.utf8), Data(bytes), Data(json.utf8)] { answers.append(blob) }
      } catch {
        for blob in [Data("refused".utf8), Data("\(error)".utf8), Data(), Data()] { answers.append(blob) }
      }
      do {
        let description = pythonsJSON.isEmpty ? "" : try type.readJSON([UInt8](pythonsJSON)).description
        answers.append(Data(description.utf8))
      } catch {
        answers.append(Data("\(error)".utf8))
      }
    }
    try answers.data.write(to: URL(filePath: received))
  }

  private func crossCheck(_ command: String, _ arguments: String...) throws -> (status: Int32, output: String) {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let script = tests.appending(path: "crosscheck/crosscheck.py").path
    let protos = tests.appending(path: "../../../Protos").path
    let python = ProcessInfo.processInfo.environment["TOUCHSTONE_PYTHON"] ?? "python3"
    let process = try ChildProcess([python, script, command, "--protos", protos] + arguments)
    let text = process.readToEnd()
    return (process.waitUntilExit(), String(decoding: text, as: UTF8.self))
  }
}

/// Byte strings in a file, each after its length (4 bytes, little endian).
private struct Blobs {
  private(set) var data = Data()
  private var position = 0

  init() {}

  init(reading data: Data) {
    self.data = data
  }

  mutating func append(_ blob: Data) {
    withUnsafeBytes(of: UInt32(blob.count).littleEndian) { data.append(contentsOf: $0) }
    data.append(blob)
  }

  mutating func next() -> Data? {
    guard position < data.count else { return nil }
    let count = data.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: UInt32.self).littleEndian }
    defer { position += 4 + Int(count) }
    return data[(position + 4)..<(position + 4 + Int(count))]
  }
}
