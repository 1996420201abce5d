// All chance of a simulated world: one seed, one sequence.

import TestSupport

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class Chance: RandomNumberGenerator, @unchecked Sendable {
  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  func next() -> UInt64 { generator.next() }

  /// The odds are as even as they need to be: 64 bits are far above any bound here.
  func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  func within(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

  func happens(_ percent: Int) -> Bool { below(100) < percent }

  /// - Precondition: there are some.
  func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  /// `nil` where there are none.
  func pickAny<Element>(_ elements: some Collection<Element>) -> Element? {
    elements.isEmpty ? nil : elements[elements.index(elements.startIndex, offsetBy: below(elements.count))]
  }

  func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 7)
    while bytes.count < count { withUnsafeBytes(of: next().littleEndian) { bytes += $0 } }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// A sequence of its own, so that what draws from it does not shift the draws of all others.
  func fork() -> Chance { Chance(seed: next()) }
}
