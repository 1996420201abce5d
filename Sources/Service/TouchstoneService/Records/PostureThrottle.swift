// How often the posture of a call is kept where its event is left out. Pure.

internal import DispatchRPC

/// Admits one a minute for each active binding that a caller names.
struct PostureThrottle {
  /// Support explains a posture that is a minute old at most. Each one replaces the one before, so the disk does not
  /// fill.
  static let interval = Duration.seconds(60)
  /// A name's slot follows from its hash, so that a caller's names take 32 KB however many it makes up, and 68 writes a
  /// second. Two names in one slot share its minute.
  static let slotCount = 4_096

  /// Empty until the first one is asked for: most callers never need any.
  private var busyUntil: [MonotonicTime] = []

  mutating func admit(_ name: NameHash?, at now: MonotonicTime) -> Bool {
    if busyUntil.isEmpty { busyUntil = Array(repeating: MonotonicTime(nanoseconds: 0), count: Self.slotCount) }
    let slot = Self.slot(of: name)
    guard busyUntil[slot] <= now else { return false }
    busyUntil[slot] = now.advanced(by: Self.interval)
    return true
  }

  /// One that was admitted was not written.
  mutating func putBack(_ name: NameHash?, at now: MonotonicTime) {
    busyUntil[Self.slot(of: name)] = now
  }

  private static func slot(of name: NameHash?) -> Int {
    Int((name?.value ?? 0) % UInt(slotCount))
  }
}
