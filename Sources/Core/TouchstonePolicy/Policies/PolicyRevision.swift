// Identifies the settings under which an evaluation began (R36).

extension EvaluationPolicy {
  /// Differs for different settings, and is the same on every replica and after every restart with the same ones.
  ///
  /// FNV-1a, 64 bits, over every setting. It only has to notice a change, because the operator is no attacker.
  public var revision: UInt64 {
    var digest = PolicyDigest()
    for byte in name.utf8 { digest.add(byte) }
    for part in Self.digests { part.add(self, &digest) }
    return digest.value
  }

  private static let digests = PolicySetting.all.flatMap(\.digests).sorted { $0.place < $1.place }
}

/// Fowler, Noll and Vo's hash (RFC 9923).
struct PolicyDigest {
  /// Whether a setting adds nothing while it has its default, so that an update that brings the setting leaves the
  /// revisions of existing policies as they are. The first ones are older than this rule.
  static func isOptional(_ place: Int) -> Bool { place > 15 }

  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func add(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
  }

  mutating func add(_ number: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
  }

  /// In microseconds; `nil` counts as more than any of them.
  mutating func add(_ duration: Duration?) {
    add(duration.map { UInt64(bitPattern: $0.wholeMicroseconds) } ?? .max)
  }
}
