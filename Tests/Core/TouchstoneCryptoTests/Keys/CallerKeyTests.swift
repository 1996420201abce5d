import Crypto
import Testing

@testable import TouchstoneCrypto

struct CallerKeyTests {
  private static let key = "tsk_" + String(repeating: "A", count: 43)

  @Test func aKeyIs256RandomBitsBehindAPrefix() throws {
    let key = CallerKey.make(by: Randomness { Array(0..<UInt8($0)) })
    #expect(key == "tsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
    #expect(CallerKey.make() != CallerKey.make())
  }

  @Test func everyKeyMadeIsWellFormed() {
    for _ in 0..<200 { #expect(CallerKeyDigest(ofKey: CallerKey.make()) != nil) }
  }

  @Test func theDigestIsThatOfTheText() throws {
    let digest = try #require(CallerKeyDigest(ofKey: Self.key))
    let hex = SHA256.hash(data: Array(Self.key.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
    #expect(digest.description == "sha256:" + hex.joined())
  }

  @Test func aDigestReadsBackAsItIsWritten() throws {
    for _ in 0..<50 {
      let digest = try #require(CallerKeyDigest(ofKey: CallerKey.make()))
      let read = try #require(CallerKeyDigest(digest.description))
      #expect(read.isEqual(to: digest))
      #expect(read.description == digest.description)
    }
  }

  @Test func anyOtherDigestIsAnother() throws {
    let digest = try #require(CallerKeyDigest(ofKey: Self.key))
    let text = Array(digest.description)
    for index in text.indices.dropFirst("sha256:".count) {
      var other = text
      other[index] = other[index] == "0" ? "1" : "0"
      let changed = try #require(CallerKeyDigest(String(other)))
      #expect(!changed.isEqual(to: digest))
    }
  }

  @Test(arguments: [
    "", "tsk_", "tsk_" + String(repeating: "A", count: 42), "tsk_" + String(repeating: "A", count: 44),
    "TSK_" + String(repeating: "A", count: 43), "xsk_" + String(repeating: "A", count: 43),
    "tsk_" + String(repeating: "A", count: 42) + "=", "tsk_" + String(repeating: "A", count: 42) + "+",
    "tsk_" + String(repeating: "A", count: 42) + " ", " tsk_" + String(repeating: "A", count: 43),
    // The same bytes in other letters: the last one holds two bits of nothing.
    "tsk_" + String(repeating: "A", count: 42) + "B", "tsk_" + String(repeating: "A", count: 42) + "D",
    "tsk_" + String(repeating: "A", count: 41) + "é",
  ])
  func whatIsNoKeyHasNoDigest(_ text: String) {
    #expect(CallerKeyDigest(ofKey: text) == nil)
  }

  @Test(arguments: [
    "", "sha256:", String(repeating: "0", count: 64), "sha256:" + String(repeating: "0", count: 63),
    "sha256:" + String(repeating: "0", count: 65), "sha256:" + String(repeating: "g", count: 64),
    "sha512:" + String(repeating: "0", count: 64), "sha256:" + String(repeating: "é", count: 32),
    "sha256: " + String(repeating: "0", count: 63), key,
  ])
  func whatIsNoDigestIsNotRead(_ text: String) {
    #expect(CallerKeyDigest(text) == nil)
  }
}
