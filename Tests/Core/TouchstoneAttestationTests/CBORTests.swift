import TestSupport
import Testing

@testable import TouchstoneAttestation

/// CBOR as authenticators send it, and what is no CBOR (RFC 8949).
struct CBORTests {
  private static func bytes(_ hexadecimal: String) -> [UInt8] {
    stride(from: 0, to: hexadecimal.utf8.count, by: 2).map { start in
      UInt8(String(Array(hexadecimal)[start..<start + 2]), radix: 16)!
    }
  }

  // RFC 8949, appendix A.
  @Test(arguments: [
    ("00", CBOR.unsigned(0)), ("1818", .unsigned(24)), ("1bffffffffffffffff", .unsigned(.max)), ("20", .negative(0)),
    ("3bffffffffffffffff", .negative(.max)), ("4401020304", .bytes([1, 2, 3, 4])), ("62c3bc", .text("ü")),
    ("f4", .boolean(false)), ("f5", .boolean(true)), ("f6", .simple(22)), ("f8ff", .simple(255)),
    ("c074323031332d30332d32315432303a30343a30305a", .tagged(0, .text("2013-03-21T20:04:00Z"))),
    ("83010203", .array([.unsigned(1), .unsigned(2), .unsigned(3)])),
    ("9f018202039f0405ffff", .array([1, .array([2, 3]), .array([4, 5])])),
    ("5f42010243030405ff", .bytes([1, 2, 3, 4, 5])), ("7f657374726561646d696e67ff", .text("streaming")),
  ]) func whatIsWellFormedIsRead(_ hexadecimal: String, _ item: CBOR) throws {
    #expect(try CBORReader.read(Self.bytes(hexadecimal)) == item)
  }

  @Test func aMapIsLookedUpByNameAndLabel() throws {
    let map = try #require(try CBORReader.read(Self.bytes("a3616101190100020326")).map)
    #expect(map["a"]?.integer == 1)
    #expect(map[256]?.integer == 2)
    #expect(map[3]?.integer == -7)
    #expect(map["b"] == nil)
  }

  @Test(arguments: [
    ("", "it ends early"), ("18", "it ends early"), ("42ff", "it ends early"), ("8101ff", "1 bytes after its end"),
    ("9f01", "it ends early"), ("a2616101616102", "a map has a key twice"), ("1c", "additional information 28"),
    ("1f", "additional information 31"), ("f810", "simple value 16 in two bytes"), ("61ff", "a text is not UTF-8"),
    ("5f6161ff", "a chunk of another type"), ("ff", "additional information 31"),
    // More items than bytes, and a string longer than any.
    ("9b7fffffffffffffff", "it ends early"), ("5b7fffffffffffffff", "it ends early"),
    ("bbffffffffffffffff", "it ends early"),
  ]) func whatIsNotIsRefused(_ hexadecimal: String, _ detail: String) {
    #expect(throws: ProofError(.malformedCBOR, detail)) { try CBORReader.read(Self.bytes(hexadecimal)) }
  }

  @Test func depthAndItemsAreBounded() throws {
    func nested(_ depth: Int) -> [UInt8] { [UInt8](repeating: 0x81, count: depth - 1) + [0] }
    #expect(throws: Never.self) { try CBORReader.read(nested(16)) }
    #expect(throws: ProofError(.malformedCBOR, "nested deeper than 16")) { try CBORReader.read(nested(17)) }
    #expect(throws: ProofError(.malformedCBOR, "nested deeper than 16")) { try CBORReader.read(nested(100_000)) }
    func array(_ count: UInt16) -> [UInt8] {
      [0x99, UInt8(count >> 8), UInt8(count & 0xFF)] + [UInt8](repeating: 0, count: Int(count))
    }
    #expect(throws: Never.self) { try CBORReader.read(array(9_999)) }
    #expect(throws: ProofError(.malformedCBOR, "more than 10000 items")) { try CBORReader.read(array(10_000)) }
    let chunks = [0x5F] + [UInt8](repeating: 0x40, count: 20_000) + [0xFF]
    #expect(throws: ProofError(.malformedCBOR, "more than 10000 items")) { try CBORReader.read(chunks) }
  }
}

extension CBOR: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int) { self.init(value) }
}
