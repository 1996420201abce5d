// How many stand-ins a store keeps (R37).

internal import Synchronization
internal import Testing
public import TouchstonePolicy
public import TouchstoneStore

extension StoreConformance {
  /// A microsecond later at each question, so that no two writes are at the same time.
  public static func tickingClock(from start: UnixTime = Sample.now) -> @Sendable () -> UnixTime {
    let ticks = SharedCount()
    return { start + .microseconds(ticks.next()) }
  }

  /// R37: forgetting a stand-in costs as many guesses as there may be stand-ins of its kind.
  ///
  /// - Parameter open: a store on the same database each time, whose bound is 3 and whose clock ticks. Closed afterwards.
  public static func expectBoundedStandIns(_ open: () async throws -> any Store) async throws {
    func device(_ number: Int) -> String {
      DeviceRecord.standInID(forUnknownBinding: "b-\(number)", applicationID: Sample.application)
    }
    func profile(_ number: Int) -> String { ProfileRecord.standInID(forProfile: "nobody \(number)") }
    func kept(_ store: any Store, of numbers: ClosedRange<Int>) async throws -> [Int] {
      _ = try await store.sweep(before: Sample.now)
      var kept: [Int] = []
      for number in numbers where try await store.device(id: device(number)).version > 0 { kept.append(number) }
      return kept
    }

    var store = try await open()
    try await store.commit(.putDevice(.sample("phone-1", failures: 1)), .putProfile(.sample()))
    for number in 1...3 {
      try await store.commit(.putDevice(.sample(device(number), failures: 1)))
      try await store.commit(.putProfile(.sample(profile(number))))
    }
    #expect(try await kept(store, of: 1...3) == [1, 2, 3])
    // Another guess at the first makes it the latest.
    try await store.commit(.putDevice(.sample(device(1), failures: 2, version: 1)))
    try await store.commit(.putDevice(.sample(device(4), failures: 1)))
    #expect(try await kept(store, of: 1...4) == [1, 3, 4])
    // One kind does not push out the other.
    for number in 1...3 { #expect(try await store.profile(profile(number)).version == 1) }
    await store.close()

    store = try await open()
    for number in 5...6 { try await store.commit(.putDevice(.sample(device(number), failures: 1))) }
    #expect(try await kept(store, of: 1...6) == [4, 5, 6])
    try await store.commit(.putProfile(.sample(profile(4))))
    #expect(try await kept(store, of: 1...6) == [4, 5, 6])
    #expect(try await store.profile(profile(1)).version == 0)
    #expect(try await store.device(id: "phone-1").version == 1)
    #expect(try await store.profile().version == 1)
    // Room that an erasure or time made is there again.
    try await store.commit(.eraseProfile(.sample("nobody 2")))
    for number in 7...8 { try await store.commit(.putProfile(.sample(profile(number)))) }
    _ = try await store.sweep(before: Sample.now)
    var profiles: [Int] = []
    for number in 1...8 where try await store.profile(profile(number)).version > 0 { profiles.append(number) }
    #expect(profiles == [4, 7, 8])
    await store.close()
  }
}

private final class SharedCount: Sendable {
  private let count = Atomic<Int>(0)

  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
