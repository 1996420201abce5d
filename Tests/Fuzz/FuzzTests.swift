// Fuzzing: what was found before stays found, and the way into libFuzzer.

import Foundation
import TestSupport
import Testing

/// `make fuzz` builds the tests with libFuzzer and runs `fuzz` for each target; `make test` replays.
@Suite(.serialized) struct FuzzTests {
  private static let directory = URL(filePath: #filePath).deletingLastPathComponent()
  private static let environment = ProcessInfo.processInfo.environment

  @Test(arguments: FuzzTarget.all) func `seeds, and what was once found, are taken`(_ target: FuzzTarget) throws {
    let inputs = try Self.inputs("Seeds", target) + Self.inputs("Findings", target)
    try #require(!inputs.isEmpty)
    // The empty one is no file: Foundation leaks a buffer for each that it reads.
    for input in inputs + [[]] { input.withUnsafeBytes(target.run) }
  }

  @Test(arguments: FuzzTarget.all) func `seeds that were damaged are taken`(_ target: FuzzTarget) throws {
    var damage = Damage(chance: SeededGenerator(seed: 1))
    let inputs = try Self.inputs("Seeds", target)
    for _ in 0..<300 { damage.damaged(inputs).withUnsafeBytes(target.run) }
  }

  /// Replays a directory of somebody else's inputs: TOUCHSTONE_FUZZ_REPLAY is "server-bytes=/some/directory".
  @Test(.enabled(if: environment["TOUCHSTONE_FUZZ_REPLAY"] != nil)) func replay() throws {
    let words = try #require(Self.environment["TOUCHSTONE_FUZZ_REPLAY"]).split(separator: "=", maxSplits: 1)
    let target = try #require(FuzzTarget.all.first { $0.name == words[0] })
    let directory = URL(filePath: String(try #require(words.last)))
    for name in try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() {
      // The last one printed is the one that failed.
      print(name)
      try [UInt8](Data(contentsOf: directory.appending(path: name))).withUnsafeBytes(target.run)
    }
  }

  /// Does not return: libFuzzer ends the process. TOUCHSTONE_FUZZ names the target, TOUCHSTONE_FUZZ_ARGUMENTS says the
  /// rest.
  @Test(.enabled(if: environment["TOUCHSTONE_FUZZ"] != nil)) func fuzz() throws {
    let name = try #require(Self.environment["TOUCHSTONE_FUZZ"])
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let arguments = (Self.environment["TOUCHSTONE_FUZZ_ARGUMENTS"] ?? "").split(separator: " ").map(String.init)
    try LibFuzzer.run(target, arguments: arguments)
  }

  private static func inputs(_ kind: String, _ target: FuzzTarget) throws -> [[UInt8]] {
    let directory = directory.appending(path: kind).appending(path: target.name)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return try names.sorted().map { [UInt8](try Data(contentsOf: directory.appending(path: $0))) }
  }
}

/// Known damage, so that what is found once is found again.
private struct Damage {
  var chance: SeededGenerator

  mutating func damaged(_ inputs: [[UInt8]]) -> [UInt8] {
    var bytes = inputs.randomElement(using: &chance)!
    for _ in 0..<Int.random(in: 1...4, using: &chance) where !bytes.isEmpty {
      let index = bytes.indices.randomElement(using: &chance)!
      switch Int.random(in: 0..<4, using: &chance) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
      case 1: bytes.insert(.random(in: 0...255, using: &chance), at: index)
      case 2: bytes.remove(at: index)
      default: bytes += inputs.randomElement(using: &chance)!.suffix(9)
      }
    }
    return bytes
  }
}
