// Which cookies make a browser familiar to which operator, for how long, and what revokes them.

import Testing
import TouchstoneCrypto
import TouchstonePolicy

@testable import TouchstoneConsole

@Suite("Proofs of browsers")
struct BrowserProofsTests {
  private let proofs = BrowserProofs(pepper: .random())
  private let now = UnixTime(seconds: 1_700_000_000)
  private let password: PasswordHash
  private let other: PasswordHash

  init() throws {
    let parameters = try #require(PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1))
    password = try .make(of: SecretBytes("correct horse battery".utf8), parameters: parameters)
    // The same password under another salt.
    other = try .make(of: SecretBytes("correct horse battery".utf8), parameters: parameters)
  }

  @Test("A proof is the operator's alone, under one password, and keeps its browser's id when it is renewed")
  func own() throws {
    let cookie = proofs.renewed(nil, of: "anna", password.digest, nil, at: now)
    let browser = try #require(proofs.browser(in: cookie, of: "anna", password.digest, at: now))
    #expect(proofs.browser(in: cookie, of: "otto", password.digest, at: now) == nil)
    #expect(proofs.browser(in: cookie, of: "anna", other.digest, at: now) == nil)
    #expect(BrowserProofs(pepper: .random()).browser(in: cookie, of: "anna", password.digest, at: now) == nil)
    let renewed = proofs.renewed(cookie, of: "anna", password.digest, browser, at: now + .seconds(60))
    #expect(renewed != cookie && !renewed.contains("."))
    #expect(proofs.browser(in: renewed, of: "anna", password.digest, at: now) == browser)
    #expect(proofs.renewed(nil, of: "anna", password.digest, nil, at: now) != cookie)
  }

  @Test("It ends 90 days after the last sign-in")
  func lifetime() {
    let cookie = proofs.renewed(nil, of: "anna", password.digest, nil, at: now)
    let end = now + BrowserProofs.lifetime
    #expect(proofs.browser(in: cookie, of: "anna", password.digest, at: end + .seconds(-1)) != nil)
    #expect(proofs.browser(in: cookie, of: "anna", password.digest, at: end) == nil)
  }

  @Test("A browser keeps the proofs of the last four operators, in a cookie of bounded length")
  func several() {
    var cookie: String?
    for name in ["a", "b", "c", "d", "e"] { cookie = proofs.renewed(cookie, of: name, password.digest, nil, at: now) }
    let known = ["a", "b", "c", "d", "e"].map { proofs.browser(in: cookie, of: $0, password.digest, at: now) != nil }
    #expect(known == [false, true, true, true, true])
    #expect(cookie?.utf8.count == ConsoleCookie.maximumBrowserBytes)
  }

  @Test("Each changed byte, and what is no proof at all, proves nothing")
  func forged() {
    let cookie = proofs.renewed(nil, of: "anna", password.digest, nil, at: now)
    for index in cookie.indices {
      let changed = cookie.replacing(at: index)
      #expect(proofs.browser(in: changed, of: "anna", password.digest, at: now) == nil, "\(changed)")
    }
    let texts = ["", ".", "....", "A", "ä", String(repeating: "A", count: 75), String(repeating: "A.", count: 200)]
    for text in texts { #expect(proofs.browser(in: text, of: "anna", password.digest, at: now) == nil) }
    // Nothing of them gets into a header.
    #expect(proofs.renewed("a b;c.ok", of: "anna", password.digest, nil, at: now).hasPrefix("ok."))
  }
}

extension String {
  fileprivate func replacing(at index: Index) -> String {
    // The last letter of base64url holds bits that stand for nothing, so the first bit of each letter is changed.
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let place = letters.firstIndex(of: self[index]) ?? 0
    return String(self[..<index]) + String(letters[place ^ 32]) + String(self[self.index(after: index)...])
  }
}
