// The source of a phone's secrets: the system, or a seed, so that a failing run can be repeated.

package enum PhoneRandomness: RandomNumberGenerator {
  case system
  /// SplitMix64 (Steele, Lea, Flood 2014): reproducible, and no secret.
  case seeded(UInt64)

  package init(seed: UInt64?) {
    self = seed.map(PhoneRandomness.seeded) ?? .system
  }

  package mutating func next() -> UInt64 {
    guard case .seeded(let state) = self else {
      var system = SystemRandomNumberGenerator()
      return system.next()
    }
    let advanced = state &+ 0x9E37_79B9_7F4A_7C15
    self = .seeded(advanced)
    var mixed = advanced
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension RandomNumberGenerator {
  mutating func bytes(count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      // Eight at a time: the system's generator is a system call.
      withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
    }
    return bytes
  }
}
