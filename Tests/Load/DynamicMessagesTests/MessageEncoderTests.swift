import DynamicMessages
import Foundation
import TestSupport
import Testing

@Suite("Messages from JSON")
struct MessageEncoderTests {
  private struct Line: Decodable {
    var descriptors: Data?
    var json: String?
    var bytes: String?
  }

  @Test("Bytes are those of Python's protobuf, for random messages of proto3 and proto2")
  func python() throws {
    let seed = Int.random(in: 0..<1_000_000)
    var pool = DescriptorPool()
    var count = 0
    for line in try Self.lines(seed: seed) {
      if let descriptors = line.descriptors {
        pool = DescriptorPool()
        for file in try FileDescriptor.all(inSet: [UInt8](descriptors)) { pool.add(file) }
      } else {
        let text = try #require(line.json)
        let json = try #require(JSONValue(text), "seed \(seed): \(text)")
        let bytes = try? pool.encode(json, as: "peer.v1.Everything")
        let hexadecimal = bytes?.map { String(format: "%02x", $0) }.joined()
        // The first difference is enough to read.
        try #require(hexadecimal == line.bytes, "seed \(seed): \(text)")
        count += 1
      }
    }
    #expect(count == 600)
  }

  private static func lines(seed: Int) throws -> [Line] {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "crosscheck/random_messages.py")
    let python = ProcessInfo.processInfo.environment["TOUCHSTONE_PYTHON"] ?? "python3"
    let process = try ChildProcess([python, script.path, "\(seed)"])
    return try process.readToEnd().split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode(Line.self, from: Data($0))
    }
  }

  // MARK: Without Python

  /// A file with "message M { int32 number = 1; string text = 2; M inner = 3; }" and a service.
  private static let pool: DescriptorPool = {
    func field(_ name: String, _ number: UInt8, _ kind: UInt8, _ type: String = "") -> [UInt8] {
      string(1, name) + [0x18, number, 0x20, 1, 0x28, kind] + (type.isEmpty ? [] : string(6, type))
    }
    func string(_ number: UInt8, _ text: String) -> [UInt8] { message(number, Array(text.utf8)) }
    func message(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
      [number << 3 | 2, UInt8(content.count)] + content
    }
    let fields = [field("number", 1, 5), field("some_text", 2, 9), field("inner", 3, 11, ".p.M")]
    let type = string(1, "M") + fields.flatMap { message(2, $0) }
    let method = string(1, "Do") + string(2, ".p.M") + string(3, ".p.M")
    let stream = string(1, "Watch") + string(2, ".p.M") + string(3, ".p.M") + [0x30, 1]
    let service = string(1, "S") + message(2, method) + message(2, stream)
    let file =
      string(1, "p.proto") + string(2, "p") + string(3, "q.proto") + message(4, type) + message(6, service)
      + string(12, "proto3")
    var pool = DescriptorPool()
    // Fixed bytes that are well-formed.
    if let file = try? FileDescriptor(file) { pool.add(file) }
    return pool
  }()

  private static func encode(_ text: String) throws -> [UInt8] {
    try pool.encode(try #require(JSONValue(text)), as: "p.M")
  }

  @Test("Names in lowerCamel and as they are declared, numbers as strings, null as nothing")
  func names() throws {
    #expect(try Self.encode(#"{"number": 150}"#) == [0x08, 0x96, 0x01])
    #expect(try Self.encode(#"{"number": "150", "inner": null}"#) == [0x08, 0x96, 0x01])
    #expect(try Self.encode(#"{"number": 1.5e2}"#) == [0x08, 0x96, 0x01])
    for name in ["someText", "some_text"] { #expect(try Self.encode("{\"\(name)\": \"x\"}") == [0x12, 1, 0x78]) }
    #expect(try Self.encode(#"{"number": 0, "someText": "", "inner": {}}"#) == [0x1A, 0])
  }

  @Test(
    "An error has the path of what is wrong",
    arguments: [
      (#"{"inner": {"inner": {"nmber": 1}}}"#, "$.inner.inner.nmber is no field of p.M"),
      (#"{"inner": {"number": true}}"#, "$.inner.number is no integer from -2147483648 to 2147483647"),
      (#"{"someText": "x", "some_text": "y"}"#, "$.some_text is there twice"),
      (#"[]"#, "$ is no object, which p.M needs"),
    ])
  func errors(text: String, message: String) throws {
    let error = #expect(throws: MessageError.self) { try Self.encode(text) }
    #expect(error?.description == message)
  }

  @Test("Depth is bounded")
  func depth() throws {
    let nested = { (depth: Int) in
      String(repeating: #"{"inner":"#, count: depth) + "{}" + String(repeating: "}", count: depth)
    }
    #expect(try Self.encode(nested(50)).count > 50)
    #expect(throws: MessageError.self) { try Self.encode(nested(150)) }
  }

  @Test("A pool has the methods of its services, and names the files that it lacks")
  func pool() {
    let methods = Self.pool.methods(ofService: "p.S")
    #expect(methods.map(\.name) == ["Do", "Watch"] && methods.map(\.isUnary) == [true, false])
    #expect(methods.allSatisfy { $0.input == "p.M" })
    #expect(Self.pool.methods(ofService: "p.T").isEmpty && Self.pool.missingFiles == ["q.proto"])
  }

  @Test(
    "Damaged descriptors and answers are refused, and none ends the process", arguments: 1...30 as ClosedRange<UInt64>)
  func damage(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
        // Tags of strings, mostly.
        Bool.random(using: &generator) ? UInt8.random(in: 0...255, using: &generator) : 0x0A
      }
      _ = try? FileDescriptor(bytes)
      _ = try? FileDescriptor.all(inSet: bytes)
      _ = try? Reflection.Response(bytes)
    }
    #expect(throws: WireError.self) { try FileDescriptor([0x0A, 5]) }
    #expect(JSONValue("{") == nil && JSONValue("{}") == .object([:]))
  }
}
