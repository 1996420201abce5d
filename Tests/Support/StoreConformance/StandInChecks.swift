// How many stand-ins a store keeps (R37).

internal import Synchronization
internal import Testing
public import TouchstonePolicy
public import TouchstoneStore

extension StoreConformance {
  /// A microsecond later at each question at least, so that no two writes are at the same time.
  ///
  /// - Parameter clock: is followed, for a server that compares it with its own; else the time stands still.
  public static func tickingClock(over clock: @escaping @Sendable () -> UnixTime = { Sample.now })
    -> @Sendable () -> UnixTime
  {
    let latest = Mutex(UnixTime(microseconds: 0))
    return {
      latest.withLock { latest in
        latest = max(clock(), latest + .microseconds(1))
        return latest
      }
    }
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

  /// R37: one application's guesses push out no other one's, though these are older.
  ///
  /// - Parameter store: whose bound is 6 and whose clock ticks.
  public static func expectStandInsOfApplicationsApart(in store: any Store) async throws {
    func device(_ number: Int, of application: String) -> String {
      DeviceRecord.standInID(forUnknownBinding: "b-\(number)", applicationID: application)
    }
    func profile(_ number: Int, of application: String) -> ProfileRecord {
      .sample(ProfileRecord.standInID(forUnknownBinding: "b-\(number)"), application: application)
    }
    func kept(of application: String) async throws -> (devices: [Int], profiles: [Int]) {
      var kept: (devices: [Int], profiles: [Int]) = ([], [])
      for number in 1...20 {
        if try await store.device(id: device(number, of: application)).version > 0 { kept.devices.append(number) }
        let subject = AttemptSubject.binding(applicationID: application, bindingID: "b-\(number)")
        if try await store.attemptRecords(for: subject).profile.version > 0 { kept.profiles.append(number) }
      }
      return kept
    }
    func guess(_ numbers: ClosedRange<Int>, in application: String) async throws {
      for number in numbers {
        try await store.commit(
          .putDevice(.sample(device(number, of: application), failures: 1)),
          .putProfile(profile(number, of: application)))
      }
      while try await store.sweep(before: Sample.now).hasMore {}
    }

    try await guess(1...2, in: "bank")
    // Bytes, and not characters: it is another application than the next one.
    try await guess(1...1, in: "caf\u{e9}")
    try await guess(1...12, in: "cafe\u{301}")
    #expect(try await kept(of: "bank") == ([1, 2], [1, 2]))
    #expect(try await kept(of: "caf\u{e9}") == ([1], [1]))
    #expect(try await kept(of: "cafe\u{301}") == ([10, 11, 12], [10, 11, 12]))
    // Who has most makes room for who has less.
    try await guess(3...4, in: "bank")
    #expect(try await kept(of: "bank").devices.count + kept(of: "cafe\u{301}").devices.count == 5)
    #expect(try await kept(of: "caf\u{e9}") == ([1], [1]))
  }

  /// R37: guesses in any number of applications push out no stand-in of an application that the configuration names.
  ///
  /// - Parameters:
  ///   - store: whose bound is 20, whose named applications are "bank" and "caf\u{e9}", and whose clock ticks.
  ///   - inventedApplications: a multiple of 10, more than the store looks at together.
  ///   - name: called when the named applications have stand-ins, before the others push out any.
  public static func expectStandInsOfNamedApplicationsKept(
    in store: any Store, inventedApplications: Int, whenSomeAreThere name: () -> Void = {}
  ) async throws {
    func device(_ number: Int, of application: String) -> String {
      DeviceRecord.standInID(forUnknownBinding: "b-\(number)", applicationID: application)
    }
    func profile(_ number: Int, of application: String) -> ProfileRecord {
      .sample(ProfileRecord.standInID(forUnknownBinding: "b-\(number)"), application: application)
    }
    func guess(_ numbers: ClosedRange<Int>, in applications: [String]) async throws {
      let changes = applications.flatMap { application in
        numbers.flatMap { number in
          [
            Change.putDevice(.sample(device(number, of: application), failures: 1)),
            .putProfile(profile(number, of: application)),
          ]
        }
      }
      try await store.commit(changes)
    }
    func sweep() async throws {
      while try await store.sweep(before: Sample.now).hasMore {}
    }
    func kept(of applications: [String], _ numbers: ClosedRange<Int>) async throws -> (devices: Int, profiles: Int) {
      var kept = (devices: 0, profiles: 0)
      for application in applications {
        for number in numbers {
          if try await store.device(id: device(number, of: application)).version > 0 { kept.devices += 1 }
          let subject = AttemptSubject.binding(applicationID: application, bindingID: "b-\(number)")
          if try await store.attemptRecords(for: subject).profile.version > 0 { kept.profiles += 1 }
        }
      }
      return kept
    }

    let invented = (0..<inventedApplications).map { "invented-\($0)" }
    // Bytes, and not characters: another spelling of "é" is an application without a name.
    try await guess(1...2, in: ["bank", "caf\u{e9}", "cafe\u{301}"])
    name()
    for start in stride(from: 0, to: invented.count, by: 10) {
      try await guess(1...1, in: Array(invented[start..<start + 10]))
    }
    try await sweep()
    #expect(try await kept(of: ["bank", "caf\u{e9}"], 1...2) == (4, 4))
    #expect(try await kept(of: ["cafe\u{301}"], 1...2) < (2, 2))
    let others = try await kept(of: invented, 1...1)
    #expect((1...16).contains(others.devices) && (1...16).contains(others.profiles))
    // One that is named has a share all the same, and loses what is above it.
    // One at a time, because what was written together may go together.
    for number in 3...40 { try await guess(number...number, in: ["bank"]) }
    try await sweep()
    let (bank, cafe) = (try await kept(of: ["bank"], 1...40), try await kept(of: ["caf\u{e9}"], 1...2))
    #expect((1...18).contains(bank.devices) && (1...18).contains(bank.profiles))
    #expect(cafe == (2, 2))
  }
}
