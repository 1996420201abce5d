// RFC 4648 section 5: one encoding for every byte string, and nothing else decodes.

import Encodings
import Testing

@Suite struct Base64URLTests {
  @Test(arguments: [
    ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
    ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of RFC 4648 section 10, without padding`(plain: String, encoded: String) {
    #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
    #expect(Base64URL.decode(encoded) == Array(plain.utf8))
  }

  @Test func `every byte survives`() {
    let bytes = Array(UInt8.min...UInt8.max)
    for count in 0...bytes.count {
      let text = Base64URL.encode(Array(bytes.suffix(count)))
      #expect(Base64URL.decode(text) == Array(bytes.suffix(count)))
    }
    #expect(Base64URL.encode([0xfb, 0xef, 0xff]) == "--__")
  }

  @Test(arguments: [
    "Zg==", "Zg=", "Zm9v=",  // padding
    "Zm9v\n", " Zm9v", "Zm 9v",  // white space
    "++//", "Zm9v.", "Zm9\u{0}", "Zm9é",  // outside of the alphabet
    "Z", "Zm9vY",  // no byte string has this length
    "Zh", "Zn", "Z_", "Zm9", "Zm-",  // unused bits that are not zero
  ])
  func `what is not byte-exact is refused`(text: String) {  // R40
    #expect(Base64URL.decode(text) == nil)
  }
}
