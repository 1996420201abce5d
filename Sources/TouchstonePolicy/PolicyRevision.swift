// Which settings an evaluation was begun under (R36).

extension EvaluationPolicy {
  /// Another value for other settings; the same on every replica and after every restart that has the same ones.
  ///
  /// FNV-1a, 64 bits, over every setting. It only has to notice a change: who configures the service is no attacker.
  public var revision: UInt64 {
    var digest = FNV1a()
    for byte in name.utf8 { digest.add(byte) }
    digest.add(purpose.rawValue)
    digest.add(UInt64(factors.count))
    for factor in factors { digest.add(factor.rawValue) }
    digest.add(UInt64(attemptsPerEvaluation))
    digest.add(UInt64(failuresBeforeLockout))
    digest.add(requiredKeyProtection?.rawValue ?? 0)
    for part in [minimumOSVersion?.major, minimumOSVersion?.minor, minimumOSVersion?.patch] {
      digest.add(part.map(UInt64.init) ?? .max)
    }
    digest.add(requiresDomainState ? 1 : 0 as UInt8)
    digest.add(UInt64(bitPattern: evaluationLifetime.wholeMicroseconds))
    digest.add(tokenLifetime.map { UInt64(bitPattern: $0.wholeMicroseconds) } ?? .max)
    for rung in ladder.rungs {
      digest.add(UInt64(rung.failures))
      switch rung.effect {
      case .lock(let duration): digest.add(UInt64(bitPattern: duration.wholeMicroseconds))
      case .disable: digest.add(UInt64.max)
      }
    }
    digest.add(UInt64(bitPattern: primaryFreshness.wholeMicroseconds))
    digest.add(fallback.rawValue)
    digest.add(isTokenSingleUse ? 1 : 0 as UInt8)
    for title in [presentation.fallback, presentation.cancel] {
      digest.add(title.map { UInt64($0.utf8.count) } ?? .max)
      for byte in title.map({ Array($0.utf8) }) ?? [] { digest.add(byte) }
    }
    return digest.value
  }
}

/// Fowler, Noll and Vo's hash (RFC 9923).
private struct FNV1a {
  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func add(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
  }

  mutating func add(_ number: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
  }
}
