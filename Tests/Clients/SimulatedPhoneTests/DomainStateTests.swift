// The laws of the domain state: it tells whether the enrolled biometrics are the same, and nothing else.

import SimulatedPhone
import TestSupport
import Testing

@Suite("Domain state")
struct DomainStateTests {
  private static let fingers = ["left thumb", "left index", "right thumb", "right index", "right middle"]

  @Test("Two phones' states are equal exactly where the same fingers are enrolled", arguments: UInt64(1)...25)
  func dependsOnTheSetAlone(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // One seed: two phones with one secret, and two histories.
    let first = Phone.owned(enrolled: [], seed: seed)
    let second = Phone.owned(enrolled: [], seed: seed)
    for _ in 0..<40 {
      for phone in [first, second] {
        let finger = Self.fingers.randomElement(using: &random)!
        if Bool.random(using: &random) { phone.enroll(finger) } else { phone.remove(finger) }
      }
      let areEqual = first.domainState(for: Phone.shop) == second.domainState(for: Phone.shop)
      #expect(areEqual == (first.enrolled == second.enrolled), "seed \(seed)")
    }
  }

  @Test("Names that run together are still two sets")
  func names() {
    let states = [["ab", "c"], ["a", "bc"], ["abc"]].map { names in
      Phone.owned(enrolled: Set(names), seed: 1).domainState(for: Phone.shop)
    }
    #expect(Set(states).count == states.count)
  }

  @Test("Every app sees another state, and so does every phone")
  func salt() {
    let phone = Phone.owned()
    #expect(phone.domainState(for: Phone.shop) != phone.domainState(for: Phone.bank))
    #expect(phone.domainState(for: Phone.shop) != Phone.owned().domainState(for: Phone.shop))
  }

  @Test("None where nothing is enrolled, where the phone is locked, and before iOS 9")
  func absence() {
    #expect(Phone.owned(enrolled: []).domainState(for: Phone.shop) == nil)
    #expect(Phone.owned(.init(8, 4)).domainState(for: Phone.shop) == nil)
    let phone = Phone.owned()
    let before = phone.domainState(for: Phone.shop)
    for _ in 0..<5 { phone.unlock(presenting: .stranger) }
    #expect(phone.domainState(for: Phone.shop) == nil)
    phone.unlock(presenting: .rightPasscode)
    #expect(phone.domainState(for: Phone.shop) == before)
  }

  @Test("A new OS keeps the state, unless it writes it anew", arguments: [false, true])
  func upgrade(rewriting: Bool) {
    let phone = Phone.owned(.init(10))
    let before = phone.domainState(for: Phone.shop)
    phone.upgrade(to: .init(11), rewritingDomainState: rewriting)
    #expect((phone.domainState(for: Phone.shop) != before) == rewriting)
  }
}
