// Whole messages in gzip: they are read as they were written, and nothing is read that is no gzip.

import TestSupport
import Testing

@testable import DispatchRPC

@Suite struct GzipTests {
  /// As an argument, the bytes themselves would be printed and encoded: minutes for a million.
  enum Compressible: CaseIterable {
    case zeros, aMillion, slowlyRising, repeatedWords

    var bytes: [UInt8] {
      switch self {
      case .zeros: [UInt8](repeating: 0, count: 100)
      case .aMillion: [UInt8](repeating: 7, count: 1_000_000)
      case .slowlyRising: (0..<50_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
      case .repeatedWords: Array("to be or not to be, to be or not to be, to be or not to be".utf8)
      }
    }
  }

  @Test(arguments: Compressible.allCases)
  func readsWhatWasCompressed(_ compressible: Compressible) throws {
    let (gzip, message) = (Gzip(), compressible.bytes)
    for _ in 0..<3 {
      #expect(try gzip.inflate(gzipped(message), limit: message.count) == message)
    }
  }

  /// By Python's zlib: nothing, a stored block, a member with a file's name.
  @Test(
    arguments: [
      ("1f8b08000000000002ff03000000000000000000", ""),
      ("1f8b08000000000002ff010500faff68656c6c6f86a6103605000000", "hello"),
      ("1f8b08080000000002ff6e616d6500cb48cdc9c9070086a6103605000000", "hello"),
    ])
  func readsWhatOthersWrote(_ hex: String, text: String) throws {
    #expect(try Gzip().inflate(bytes(ofHex: hex), limit: 100) == Array(text.utf8))
  }

  @Test func nothingInflatesToNothing() throws {
    #expect(try Gzip().inflate([], limit: 0) == [])
  }

  enum Damage: CaseIterable {
    case cutShort, cutToTheHeader, cutToAByte, wrongSum, wrongLength, garbageAfter, zeroAfter, secondMember, zlibFormat
    case noMagic, reservedBlock
  }

  @Test(arguments: Damage.allCases)
  func whatIsNotOneWholeMemberIsMalformed(_ damage: Damage) throws {
    let gzip = Gzip()
    var bytes = gzipped(Self.text)
    switch damage {
    case .cutShort: bytes.removeLast()
    case .cutToTheHeader: bytes = Array(bytes[..<10])
    case .cutToAByte: bytes = [bytes[0]]
    case .wrongSum: bytes[bytes.count - 5] ^= 1
    case .wrongLength: bytes[bytes.count - 1] ^= 1
    case .garbageAfter: bytes.append(0x41)
    case .zeroAfter: bytes.append(0)
    case .secondMember: bytes += bytes
    case .zlibFormat: bytes = [0x78, 0x9C, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]
    case .noMagic: bytes[1] = 0
    case .reservedBlock: bytes[10] |= 0b110
    }
    #expect(throws: Gzip.Fault.malformed) { try gzip.inflate(bytes, limit: 10_000) }
    // It was only that one.
    #expect(try gzip.inflate(gzipped(Self.text), limit: 10_000) == Self.text)
  }

  @Test(arguments: [0, 1, 999, 1_000, 1_001, 4_096, 99_999, 100_000, Int.max])
  func theLimitHoldsToTheByte(_ limit: Int) throws {
    let gzip = Gzip()
    for size in [1_000, 100_000] {
      let message = [UInt8](repeating: 0, count: size)
      let deflated = gzipped(message)
      if size <= limit {
        #expect(try gzip.inflate(deflated, limit: limit) == message)
      } else {
        #expect(throws: Gzip.Fault.tooLarge) { try gzip.inflate(deflated, limit: limit) }
      }
    }
  }

  @Test func aBombIsTooLargeBeforeItsEndIsSeen() throws {
    let gzip = Gzip()
    let bomb = gzipped([UInt8](repeating: 0, count: 64 << 20))
    #expect(bomb.count < 1 << 19)
    // Were it inflated to the end, the damage there would show.
    let damaged = Array(bomb.dropLast(8))
    #expect(throws: Gzip.Fault.tooLarge) { try gzip.inflate(damaged, limit: 1 << 20) }
  }

  private static let text = Array("the same again, and the same again, and the same again".utf8)

  private func bytes(ofHex hex: String) -> [UInt8] {
    let digits = hex.utf8.map { $0 <= UInt8(ascii: "9") ? $0 - 0x30 : $0 - 0x57 }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
