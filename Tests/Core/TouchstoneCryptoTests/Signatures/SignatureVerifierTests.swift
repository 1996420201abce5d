// R33: which bytes prove possession of a key.

import Crypto
import Encodings
import Testing
import TouchstoneCrypto

/// RFC 6979 A.2.5, P-256 with SHA-256.
private enum RFC6979 {
  static let publicKey = hex(
    """
    04 60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6
    7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299
    """)
  static let message = Array("sample".utf8)
  static let r = hex("EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716")
  static let s = hex("F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8")
}

/// n, the number of points.
private let order = hex("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")
private let zero = [UInt8](repeating: 0, count: 32)

@Suite struct SignatureVerifierTests {
  @Test(arguments: [
    (
      "sample",
      "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
      "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
    ),
    (
      "test",
      "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
      "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
    ),
  ])
  func `the vectors of RFC 6979`(message: String, r: String, s: String) throws {
    #expect(try isAccepted(hex(r) + hex(s), message: Array(message.utf8)))
    #expect(try isAccepted(der(integer(hex(r)) + integer(hex(s))), message: Array(message.utf8)))
  }

  @Test func `the vector of RFC 7515 appendix A_3`() throws {
    let key = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
    let other = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
    let input =
      "eyJhbGciOiJFUzI1NiJ9"
      + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let signature = try #require(
      Base64URL.decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
    let check = SignatureCheck(
      publicKey: try P256PublicKey(bytes: [0x04] + key + other), signature: signature, message: Array(input.utf8))
    #expect(SignatureVerifier.verify(check))
  }

  @Test func `s and n - s are both accepted`() throws {  // R33
    let mirrored = subtract(RFC6979.s, from: order)
    #expect(RFC6979.s[0] >= 0x80 && mirrored[0] < 0x80)
    #expect(try isAccepted(RFC6979.r + RFC6979.s))
    #expect(try isAccepted(RFC6979.r + mirrored))
    #expect(try isAccepted(der(integer(RFC6979.r) + integer(mirrored))))
  }

  @Test func `another message, key or signature fails`() throws {
    let raw = RFC6979.r + RFC6979.s
    #expect(try !isAccepted(raw, message: Array("samplf".utf8)))
    #expect(try !isAccepted(raw, message: []))
    #expect(try !isAccepted(RFC6979.s + RFC6979.r))
    let other = try P256PublicKey(bytes: Array(P256.Signing.PrivateKey().publicKey.x963Representation))
    #expect(!SignatureVerifier.verify(.init(publicKey: other, signature: raw, message: RFC6979.message)))
  }

  @Test(
    arguments: [
      ("empty", []),
      ("63 bytes", RFC6979.r + RFC6979.s.dropLast()),
      ("65 bytes", RFC6979.r + RFC6979.s + [0]),
      ("65 bytes, zero in front", [0] + RFC6979.r + RFC6979.s),
      ("96 bytes", RFC6979.r + RFC6979.s + zero),
    ] as [(String, [UInt8])])
  func `raw signatures have 64 bytes`(what: String, signature: [UInt8]) throws {  // R33
    #expect(try !isAccepted(signature))
  }

  @Test(arguments: [
    ("r = 0", zero, RFC6979.s),
    ("s = 0", RFC6979.r, zero),
    ("both 0", zero, zero),
    ("r = n", order, RFC6979.s),
    ("s = n", RFC6979.r, order),
    ("s = n + s of a small one", RFC6979.r, [UInt8](repeating: 0xff, count: 32)),
    ("both 2^256 - 1", [UInt8](repeating: 0xff, count: 32), [UInt8](repeating: 0xff, count: 32)),
  ])
  func `r and s lie between 0 and n`(what: String, r: [UInt8], s: [UInt8]) throws {  // R33
    #expect(try !isAccepted(r + s))
    #expect(try !isAccepted(der(integer(r) + integer(s))))
  }

  /// After the cases of Wycheproof's ecdsa_secp256r1_sha256: every one holds the right r and s, encoded wrongly.
  @Test(
    arguments: [
      ("trailing byte", der(right) + [0]),
      ("trailing byte inside", der(right + [0])),
      ("trailing NULL inside", der(right + [0x05, 0x00])),
      ("one byte short", der(right).dropLast()),
      ("length one too long", [0x30, UInt8(right.count + 1)] + right),
      ("length one too short", [0x30, UInt8(right.count - 1)] + right),
      ("long form of a short length", [0x30, 0x81, UInt8(right.count)] + right),
      ("longer form yet", [0x30, 0x82, 0x00, UInt8(right.count)] + right),
      ("indefinite length", [0x30, 0x80] + right + [0, 0]),
      ("a SET", [0x31, UInt8(right.count)] + right),
      ("no sequence", right),
      ("long form inside", der([0x02, 0x81, 0x21, 0x00] + RFC6979.r + integer(RFC6979.s))),
      ("superfluous zero before r", der([0x02, 0x22, 0x00, 0x00] + RFC6979.r + integer(RFC6979.s))),
      ("superfluous zero before s", der(integer(RFC6979.r) + [0x02, 0x22, 0x00, 0x00] + RFC6979.s)),
      ("negative r", der([0x02, 0x20] + RFC6979.r + integer(RFC6979.s))),
      ("negative s", der(integer(RFC6979.r) + [0x02, 0x20] + RFC6979.s)),
      ("empty r", der([0x02, 0x00] + integer(RFC6979.s))),
      ("empty s", der(integer(RFC6979.r) + [0x02, 0x00])),
      ("r alone", der(integer(RFC6979.r))),
      ("three integers", der(right + integer([0x01]))),
      ("r is an OCTET STRING", der([0x04, 0x21, 0x00] + RFC6979.r + integer(RFC6979.s))),
      ("r is longer than the rest", der([0x02, 0x7f] + RFC6979.r)),
      ("r of 34 bytes", der([0x02, 0x22, 0x01, 0x00] + RFC6979.r + integer(RFC6979.s))),
      ("header alone", [0x30]),
      ("empty sequence", [0x30, 0x00]),
    ] as [(String, [UInt8])])
  func `DER is strict`(what: String, signature: [UInt8]) throws {  // R33
    #expect(try isAccepted(der(right)))
    #expect(try !isAccepted(signature))
  }

  @Test func `a small s is encoded short and accepted so only`() throws {  // R33
    let r = hex("F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367")
    let s = hex("019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083")
    let test = Array("test".utf8)
    #expect(try isAccepted(der(integer(r) + [0x02, 0x20] + s), message: test))
    #expect(try !isAccepted(der(integer(r) + [0x02, 0x21, 0x00] + s), message: test))
  }

  @Test func `no flipped bit verifies and none traps`() throws {
    let encoded = der(right)
    for index in encoded.indices {
      for bit in 0..<8 {
        var altered = encoded
        altered[index] ^= 1 << UInt8(bit)
        #expect(try !isAccepted(altered), "byte \(index), bit \(bit)")
      }
    }
  }

  private func isAccepted(_ signature: [UInt8], message: [UInt8] = RFC6979.message) throws -> Bool {
    let key = try P256PublicKey(bytes: RFC6979.publicKey)
    return SignatureVerifier.verify(.init(publicKey: key, signature: signature, message: message))
  }
}

private let right = integer(RFC6979.r) + integer(RFC6979.s)

private func der(_ content: [UInt8]) -> [UInt8] {
  [0x30, UInt8(content.count)] + content
}

/// The shortest INTEGER of an unsigned big-endian number.
private func integer(_ magnitude: [UInt8]) -> [UInt8] {
  var content = Array(magnitude.drop { $0 == 0 })
  if content.first ?? 0x80 >= 0x80 { content.insert(0, at: 0) }
  return [0x02, UInt8(content.count)] + content
}

/// `from - number`, big-endian, of the same length.
private func subtract(_ number: [UInt8], from: [UInt8]) -> [UInt8] {
  var result = from
  var borrow = 0
  for index in from.indices.reversed() {
    let difference = Int(from[index]) - Int(number[index]) - borrow
    borrow = difference < 0 ? 1 : 0
    result[index] = UInt8(truncatingIfNeeded: difference)
  }
  return result
}
