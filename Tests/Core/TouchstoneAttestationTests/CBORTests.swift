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

  /// CTAP 2.1 §8.
  @Test(arguments: [
    "a5010203262001215820000000000000000000000000000000000000000000000000000000000000000022", "a10102", "a0",
    "a4010203262001613000", "a20120187f00", "1818", "190100", "1a00010000", "1b0000000100000000", "f5", "f820",
  ]) func theCanonicalFormIsRead(_ hexadecimal: String) throws {
    let bytes = Self.bytes(hexadecimal.hasPrefix("a501") ? hexadecimal + "40" : hexadecimal)
    #expect(try CBORReader.read(bytes, as: .ctap2Canonical) == CBORReader.read(bytes))
  }

  @Test(arguments: [
    ("1817", "a number that is longer than it needs to be"), ("1900ff", "a number that is longer than it needs to be"),
    ("1a0000ffff", "a number that is longer than it needs to be"),
    ("580101", "a number that is longer than it needs to be"),
    ("1b00000000ffffffff", "a number that is longer than it needs to be"),
    ("b80101f5", "a number that is longer than it needs to be"), ("bf0102ff", "additional information 31"),
    ("5f4101ff", "additional information 31"), ("9fff", "additional information 31"), ("c001", "a tag"),
    ("f93c00", "a floating-point number"), ("a1f93c0001", "a floating-point number"),
    ("a203260102", "a map's names are not in their order"), ("a220010102", "a map's names are not in their order"),
    ("a20102010f", "a map has a key twice"), ("a26130006131", "it ends early"),
    ("a1410102", "a map's name that is neither an integer nor a text"),
    ("a1a0a0", "a map's name that is neither an integer nor a text"),
    ("a10101a0", "1 bytes after its end"),
  ]) func otherFormsAreRefusedWhereOneIsAskedFor(_ hexadecimal: String, _ detail: String) {
    #expect(throws: ProofError(.malformedCBOR, detail)) {
      try CBORReader.read(Self.bytes(hexadecimal), as: .ctap2Canonical)
    }
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
