// The facts that are proven of a key, and the claims that they bear out (R42, R44).

import Testing
import TouchstonePolicy

struct KeyAttestationTests {
  @Test("R42: the levels in their order, and the words for them")
  func levels() {
    #expect(ProofLevel.allCases == ProofLevel.allCases.sorted())
    #expect(ProofLevel.allCases.map(\.name) == ["none", "self", "app", "tee", "strongbox"])
    #expect(ProofLevel.allCases.map(\.rawValue) == [1, 2, 3, 4, 5])
    for level in ProofLevel.allCases { #expect(ProofLevel(name: level.name) == level) }
    #expect(ProofLevel(name: "TEE") == nil)
  }

  @Test("R42: a binding has the level of its least proven key")
  func leastProven() {
    #expect(ProofLevel.ofBinding([.strongbox, .tee]) == .tee)
    #expect(ProofLevel.ofBinding([.strongbox, .none]) == .none)
    #expect(ProofLevel.ofBinding([]) == .none)
  }

  @Test("R42: no device is asked for more than it can reach")
  func asked() {
    let highest: [(PlatformFamily?, ProofLevel)] = [
      (.iOS, .app), (.macOS, .app), (.android, .strongbox), (.web, .tee), (nil, .strongbox),
    ]
    for (family, highest) in highest {
      for level in ProofLevel.allCases { #expect(level.asked(of: family) == min(level, highest)) }
    }
  }

  @Test("R42: each key keeps its own level")
  func provenKeys() {
    for level in ProofLevel.allCases {
      #expect(KeyProtection.allCases.allSatisfy { ProvenKeys(all: level)[$0] == level })
      for protection in KeyProtection.allCases {
        var keys = ProvenKeys(all: .strongbox)
        keys[protection] = level
        for other in KeyProtection.allCases { #expect(keys[other] == (other == protection ? level : .strongbox)) }
      }
    }
    #expect(ProvenKeys() == ProvenKeys(all: .none))
  }

  /// Checks every claim, under everything that may unlock a key.
  @Test("R44: a claim must be what the hardware says", arguments: KeyProtection.allCases)
  func claims(_ claim: KeyProtection) {
    let times: [Duration?] = [nil, .seconds(0), .seconds(1), .seconds(300), .seconds(301), .seconds(86_400)]
    for (byBiometrics, byPasscode) in [(false, false), (true, false), (false, true), (true, true)] {
      for time in times {
        let isShort = time.map { $0 <= .seconds(300) } ?? true
        let isRight =
          switch claim {
          case .biometryCurrentSet, .biometryAny: (byBiometrics, byPasscode) == (true, false) && time == nil
          case .userPresence: (byBiometrics, byPasscode) == (true, true) && isShort
          case .devicePasscode: (byBiometrics, byPasscode) == (false, true) && isShort
          }
        let unlocking = AttestedUnlocking.needed(byBiometrics: byBiometrics, byPasscode: byPasscode, lasting: time)
        #expect(unlocking.bearsOut(claim) == isRight)
      }
    }
    #expect(!AttestedUnlocking.nothing.bearsOut(claim))
  }
}
