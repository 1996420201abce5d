// R30: what may be a ProfileTouchID.

import TestSupport
import Testing
import TouchstonePolicy

@Suite struct ProfileTouchIDTests {
  @Test("R30: 16 to 128 bytes", arguments: [(0, false), (15, false), (16, true), (128, true), (129, false)])
  func length(count: Int, isValid: Bool) {
    var random = SeededGenerator(seed: 30)
    let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect((violation(bytes) == nil) == isValid)
    #expect(isValid || violation(bytes) == "does not have 16 to 128 bytes")
  }

  @Test("R30: one byte repeated, or a counter of any step, is guessable", arguments: UInt8.min...UInt8.max)
  func counters(step: UInt8) {
    for start in [0, 1, 97, 255] as [UInt8] {
      var bytes = (0..<24).map { start &+ UInt8($0) &* step }
      #expect(violation(bytes) == "is guessable: one byte repeated, or a counter")
      bytes[23] &+= 1
      let distinct = Set(bytes).count
      #expect(violation(bytes) == (distinct < 8 ? "is guessable: fewer than 8 different bytes" : nil))
    }
  }

  @Test("R30: a counter of digits goes round 10", arguments: 1...9)
  func digitCounters(step: Int) {
    for start in 0...9 {
      let digits = (0..<24).map { UInt8(ascii: "0") + UInt8((start + $0 * step) % 10) }
      #expect(violation(digits) == "is guessable: one byte repeated, or a counter")
    }
    let others = [UInt8]("3141592653589793".utf8)
    #expect(violation(others) == nil)
  }

  @Test(
    "R30: few different bytes are guessable, however many of them there are",
    arguments: [
      ("1111111111111112", "is guessable: fewer than 8 different bytes"),
      ("0000000000000042", "is guessable: fewer than 8 different bytes"),
      ("abcdefgabcdefgabcdefgabcdefgabcdefgabcdefg", "is guessable: fewer than 8 different bytes"),
      ("abcdefghhhhhhhhh", nil),
    ] as [(String, String?)])
  func fewDistinctBytes(text: String, expected: String?) {
    #expect(violation([UInt8](text.utf8)) == expected)
  }

  @Test(
    "R30: a number that zeros make long enough is guessable",
    arguments: [
      // Microseconds since 1970 as a 128-bit integer, from either end.
      ([0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0x43, 0xE1, 0x52, 0x9B, 0x7C, 0x1D], true),
      ([0x1D, 0x7C, 0x9B, 0x52, 0xE1, 0x43, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0], true),
      ([UInt8]("0000001763736298".utf8), true), ([UInt8]("1763736298450000".utf8), false),
      ([UInt8]("2345678900000000".utf8), true), ([UInt8]("0000123456789135".utf8), false),
      ([0, 0, 0, 0, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144], true),
      ([0, 0, 0, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233], false),
    ] as [([UInt8], Bool)])
  func padded(bytes: [UInt8], isGuessable: Bool) {
    #expect(violation(bytes) == (isGuessable ? "is guessable: padded with zeros" : nil))
  }

  @Test(
    "R30: text with the profile or the device in it is guessable",
    arguments: [
      ("alice-touch-id-0001", true), ("my-Alice-touch-id-01", true), ("prefix-pixel 8-end", true),
      ("0123456789-ALICE", true), ("a-l-i-c-e-0123456789", false), ("q8Zr2Lk0vXw1Nn5d", false),
      ("pixel-8-0123456789", false),
    ])
  func telling(text: String, isGuessable: Bool) {
    #expect(
      violation([UInt8](text.utf8))
        == (isGuessable ? "is guessable: text that contains the profile or the device" : nil))
  }

  @Test("R30: random bytes that happen to hold a name are no text; a name of one letter stands in any")
  func notTelling() {
    let text = [UInt8]("alice".utf8)
    #expect(violation(text + [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55]) == nil)
    #expect(violation(text + [0xFF, 0xFE, 1, 2, 3, 5, 8, 13, 21, 34, 55]) == nil)
    let random = [UInt8]("q8Zr2Lk0vXw1Nn5d".utf8)
    #expect(ProfileTouchID.violation(in: random, profileID: "q", deviceID: "8Z") == nil)
    #expect(ProfileTouchID.violation(in: random, profileID: "q", deviceID: "8zR") != nil)
    #expect(
      ProfileTouchID.violation(in: random, profileID: String(repeating: "p", count: 100), deviceID: "phone") == nil)
  }

  private func violation(_ bytes: [UInt8]) -> String? {
    ProfileTouchID.violation(in: bytes, profileID: "alice", deviceID: "Pixel 8")
  }
}
