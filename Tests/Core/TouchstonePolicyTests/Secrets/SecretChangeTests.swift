// R16: what may be a passcode or a gesture, and what entitles to set one.

import Testing
import TouchstonePolicy

@Suite struct SecretChangeTests {
  @Test(
    "R16: a passcode has 4 to 64 characters, at least two distinct",
    arguments: [
      ("1234", nil), ("1112", nil), ("aaaA", nil), ("pässwörd", nil), ("密码密码", nil), ("    .", nil), ("🔑🔒🔑🔒", nil),
      ("", "does not have 4 to 64 characters"), ("123", "does not have 4 to 64 characters"),
      ("密码密", "does not have 4 to 64 characters"), ("1111", "has fewer than 2 distinct characters"),
      ("🔑🔑🔑🔑", "has fewer than 2 distinct characters"),
    ] as [(String, String?)])
  func passcode(text: String, expected: String?) {
    #expect(Passcode.violation(in: text) == expected)
  }

  @Test("R16: characters are Unicode scalars, whatever they are drawn as")
  func scalars() {
    #expect(Passcode.violation(in: String(repeating: "ab", count: 32)) == nil)
    #expect(Passcode.violation(in: String(repeating: "ab", count: 32) + "a") == "does not have 4 to 64 characters")
    // One family, five scalars.
    #expect(Passcode.violation(in: "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F466}") == nil)
  }

  @Test("R16: a passcode is counted in normalisation form C")
  func composedScalars() {
    for letter in ["e\u{301}", "\u{E9}"] {
      #expect(Passcode.violation(in: letter + letter) == "does not have 4 to 64 characters")
      #expect(Passcode.violation(in: "\u{E9}e\u{301}" + letter + letter) == "has fewer than 2 distinct characters")
      #expect(Passcode.violation(in: String(repeating: letter + "a", count: 32)) == nil)
    }
    // Four scalars each, and one when composed.
    let longest = String(repeating: "\u{3B1}\u{313}\u{300}\u{345}", count: 63) + "ab"
    #expect(Passcode.violation(in: String(longest.dropLast())) == nil)
    #expect(Passcode.violation(in: longest) == "does not have 4 to 64 characters")
  }

  @Test(
    "R16: passcodes are compared in normalisation form C, with one kind of space",
    arguments: [
      ("U\u{308}berg", "\u{DC}berg"), ("\u{DC}berg", "\u{DC}berg"), ("Uberg", "Uberg"), ("\u{212B}", "\u{C5}"),
      ("a\u{A0}b\u{3000}c\u{2000}d", "a b c d"), ("\u{1112}\u{1161}\u{11AB}", "\u{D55C}"), (" a  ", " a  "),
      // Marks in another order; compatible characters and case stay as they are.
      ("q\u{307}\u{323}", "q\u{323}\u{307}"), ("\u{FB01}\u{FF21}", "\u{FB01}\u{FF21}"), ("\u{958}", "\u{915}\u{93C}"),
    ])
  func prepared(text: String, expected: String) {
    #expect(Array(OpaqueString.prepare(text).utf8) == Array(expected.utf8))
    #expect(Array(OpaqueString.prepare(expected).utf8) == Array(expected.utf8))
  }

  @Test("R16: a passcode that an earlier version took can be tried")
  func earlierLengths() {
    #expect(Passcode.canBeRight("e\u{301}e\u{301}"))
    #expect(Passcode.canBeRight(String(repeating: "e\u{301}", count: 64)))
    #expect(!Passcode.canBeRight("\u{E9}\u{E9}"))
    #expect(!Passcode.canBeRight(String(repeating: "e\u{301}", count: 65)))
    #expect(!Passcode.canBeRight(String(repeating: "\u{301}", count: 1 << 20)))
  }

  @Test(
    "R16: a gesture has 4 to 9 of the dots 0 to 8, none twice",
    arguments: [
      ([0, 1, 2, 5], nil), ([8, 7, 6, 5, 4, 3, 2, 1, 0], nil), ([], "does not have 4 to 9 points"),
      ([0, 1, 2], "does not have 4 to 9 points"), ([0, 1, 2, 3, 4, 5, 6, 7, 8, 0], "does not have 4 to 9 points"),
      ([0, 1, 2, 9], "has a point outside the dots 0 to 8"),
      ([0, 1, 2, .max], "has a point outside the dots 0 to 8"), ([0, 1, 2, 1], "has a point twice"),
      ([4, 4, 4, 4], "has a point twice"),
    ] as [([UInt32], String?)])
  func gesture(points: [UInt32], expected: String?) {
    #expect(Gesture.violation(in: points) == expected)
  }

  @Test("R13, R17: once set, it is on, without failures or lock, and of another generation")
  func setting() {
    let profile = ProfileStanding(words: "passcode=10!~1 passcode-off")
    let changed = profile.settingSecret(.passcode, at: .noon)
    #expect(changed.passcode == SecretStanding(isSet: true, generation: profile.passcode.generation + 1))
    #expect(changed.settings.isPasscodeEnabled && changed.settings.updatedAt == .noon)
    #expect(changed.gesture == profile.gesture)
  }

  @Test("R17: erasing switches off, and nothing off is preferred")
  func erasing() {
    let profile = ProfileStanding(words: "passcode=2 gesture prefers-passcode")
    let erased = profile.erasingSecret(.passcode, at: .noon)
    #expect(!erased.passcode.isSet && !erased.settings.isPasscodeEnabled && erased.settings.preferred == nil)
    #expect(erased.settings.updatedAt == .noon && erased.gesture == profile.gesture)
    #expect(erased.settings.violation() == nil)
    #expect(profile.erasingSecret(.gesture, at: .noon).settings.preferred == .passcode)
  }

  @Test("R37: where no old secret is set, the name counts the attempts as if it were set")
  func oldSecretCount() {
    let (set, erased) = (SecretStanding(isSet: true, failures: 2), SecretStanding(isSet: false, failures: 4))
    let counted = SecretStanding(isSet: true, failures: 1)
    #expect(SecretCount(own: set, ofName: counted).standing == set)
    #expect(SecretCount(own: set, ofName: nil).isSet)
    for own in [nil, erased] {
      let first = SecretCount(own: own, ofName: nil)
      #expect(!first.isSet && first.standing == SecretStanding(isSet: true))
      #expect(SecretCount(own: own, ofName: counted).standing == counted)
    }
  }
}
