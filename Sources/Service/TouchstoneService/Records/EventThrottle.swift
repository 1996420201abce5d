// How many refusals that change nothing lasting become events: one open evaluation takes any number of cancels, and a
// caller makes up any number of bindings, tokens and tickets. All callers share the disk that those events would fill.
// Pure.

internal import DispatchRPC

/// Admits a few events at once for each caller, application, name and answer, then one now and then, and counts the
/// rest. A caller also has a bound for all of them together, since it can make up names and applications.
struct EventThrottle {
  /// Identifies the events that are counted together: the refused thing, and the answer that the caller got. The audit
  /// log may give more detail than the answer. The key leaves that out: whether a call waits for the disk must not
  /// reveal it (R37).
  struct Key: Hashable {
    /// The application and the binding, profile or token that the caller named, known or not, so that one person's
    /// refusals leave room for another's. `nil`: of more names than are counted apart.
    fileprivate var about: NameHash?
    /// The event's. One of a fixed few, as the answer is.
    var kind: String
    var answer: String

    /// It is about a token that serves once and has not expired: each cost a success, so the caller's bound for all is
    /// not needed, and no flood of others leaves out what became of a payment.
    var isEarned: Bool

    init(applicationID: String, named: String = "", isEarned: Bool = false, kind: String, answer: String) {
      about = NameHash(applicationID, named)
      (self.isEarned, self.kind, self.answer) = (isEarned, kind, answer)
    }

    /// For all further names together, also if they are earned.
    var shared: Key {
      var key = self
      (key.about, key.isEarned) = (nil, false)
      return key
    }

    /// Between two events. Only the caller's room for all bounds those of the further names: there is no telling which
    /// of them repeats.
    fileprivate var interval: Duration { about == nil ? .zero : RefusalThrottle.interval }
  }

  /// The throttle's verdict on one event.
  struct Admission: Hashable, Sendable {
    /// How many events like it were left out since the last one; `nil`: there is no room for this one.
    var suppressed: Int?
    /// There is no room for the event, and the posture that came with the call may be written without it.
    var notesPosture = false
  }

  /// A caller without a single success in an evaluation: 1,024 events at once…
  static let callerBurst = 1_024
  /// …and from then on 86,400 a day. An event of a made-up binding took 290 bytes in SQLite, and it takes 1.2 KB at
  /// most with the longest identifiers: 25 MB to 100 MB a day, however many names a flood makes up.
  static let callerInterval = Duration.seconds(1)
  /// An operator of the console is one person: 128 at once…
  static let operatorBurst = 128
  /// …and from then on 8,640 a day, 10 MB at most. A person takes longer than that to read a page.
  static let operatorInterval = Duration.seconds(10)
  /// The number of successful evaluations that makes room for one more event. Each success is an event itself, so a
  /// flood adds at most a tenth to what the successes write. Other successes (a binding, a secret, a token's use) are
  /// rarer or follow from one, and make no room. A caller with 1,000 logins a second has room for 101 refusals a
  /// second. If 1 % of its logins are denied and 5 % canceled, it uses 60 of them.
  static let successesPerEvent = 10
  /// Names times answers of one caller, some 200 bytes each. A name takes its place for a minute, and is forgotten a
  /// minute later at most: enough for 136 refusals a second, each of another name. Earned ones have as many places
  /// again, so that no flood of names that are made up takes theirs.
  static let maximumKeys = 16_384
  /// More are only of callers that a reload took away.
  static let maximumCallers = 1_024

  /// The bound of one caller's events together.
  fileprivate struct Bound {
    let burst: Int
    let interval: Duration

    init(of caller: String) {
      let isOperator = Caller.isOperator(caller)
      burst = isOperator ? EventThrottle.operatorBurst : EventThrottle.callerBurst
      interval = isOperator ? EventThrottle.operatorInterval : EventThrottle.callerInterval
    }
  }

  fileprivate struct Share {
    let bound: Bound
    var all: EventBucket
    var buckets: [Key: EventBucket] = [:]
    var postures = PostureThrottle()
    /// Looking for the quiet ones takes as long as there are keys.
    var nextLook = MonotonicTime(nanoseconds: 0)

    init(of caller: String, at now: MonotonicTime) {
      bound = Bound(of: caller)
      all = EventBucket(isFullAt: now)
    }
  }

  private var callers: [String: Share] = [:]

  var callerCount: Int { callers.count }

  func keyCount(of caller: String) -> Int { callers[caller]?.buckets.count ?? 0 }

  /// Decides on one event.
  ///
  /// - Parameters:
  ///   - isRequired: it is written in any case. It takes the room that is there, so that what follows does not show
  ///     whether it was required (R37), and is never counted as left out.
  ///   - showsPosture: a binding's posture came with the call.
  ///   - caller: its identity, which is ASCII.
  mutating func admit(
    _ key: Key, isRequired: Bool = false, showsPosture: Bool = false, of caller: String, at now: MonotonicTime
  ) -> Admission {
    if callers[caller] == nil, !makeRoom(at: now) { return Admission(suppressed: nil) }
    return callers[caller, default: Share(of: caller, at: now)].admit(
      key, isRequired: isRequired, showsPosture: showsPosture, at: now)
  }

  /// Counts the event as left out if there is no room for it. False: there is room, which is not taken.
  mutating func leavesOut(_ key: Key, of caller: String, at now: MonotonicTime) -> Bool {
    callers[caller]?.leavesOut(key, at: now) ?? false
  }

  /// Undoes an admission whose commit failed: a call that is tried again takes no more room than one that is not.
  mutating func putBack(
    _ admission: Admission, _ key: Key, isRequired: Bool = false, of caller: String, at now: MonotonicTime
  ) {
    callers[caller]?.putBack(admission, key, isRequired: isRequired, at: now)
  }

  /// An evaluation of the caller's succeeded, which is an event of its own.
  mutating func noteSuccess(of caller: String) {
    // Most callers have no entry, and optional chaining into a dictionary allocates even then.
    guard let index = callers.index(forKey: caller) else { return }
    let interval = callers.values[index].bound.interval
    callers.values[index].all.makeRoom(interval / Self.successesPerEvent)
  }

  /// Removes callers without recent events if there are too many.
  private mutating func makeRoom(at now: MonotonicTime) -> Bool {
    if callers.count >= Self.maximumCallers { callers = callers.filter { $0.value.all.isFullAt > now } }
    return callers.count < Self.maximumCallers
  }
}

/// One caller's.
extension EventThrottle.Share {
  fileprivate mutating func leavesOut(_ key: EventThrottle.Key, at now: MonotonicTime) -> Bool {
    let counted = counted(key, at: now)
    guard !hasRoom(for: counted, at: now) else { return false }
    buckets[counted, default: EventBucket(isFullAt: now)].suppressed += 1
    return true
  }

  private func hasRoom(for counted: EventThrottle.Key, at now: MonotonicTime) -> Bool {
    let hasRoomForAll = all.hasRoom(at: now, burst: bound.burst, interval: bound.interval)
    return (counted.isEarned || hasRoomForAll)
      && buckets[counted]?.hasRoom(at: now, burst: RefusalThrottle.burst, interval: counted.interval) ?? true
  }

  fileprivate mutating func admit(
    _ key: EventThrottle.Key, isRequired: Bool, showsPosture: Bool, at now: MonotonicTime
  ) -> EventThrottle.Admission {
    let counted = counted(key, at: now)
    let hasRoom = hasRoom(for: counted, at: now)
    var bucket = buckets[counted] ?? EventBucket(isFullAt: now)
    defer { buckets[counted] = bucket }
    if hasRoom {
      if !counted.isEarned { _ = all.take(at: now, interval: bound.interval) }
      return EventThrottle.Admission(suppressed: bucket.take(at: now, interval: counted.interval))
    }
    if !isRequired { bucket.suppressed += 1 }
    return EventThrottle.Admission(
      suppressed: nil, notesPosture: showsPosture && postures.admit(key.about, at: now))
  }

  fileprivate mutating func putBack(
    _ admission: EventThrottle.Admission, _ key: EventThrottle.Key, isRequired: Bool, at now: MonotonicTime
  ) {
    if admission.notesPosture { postures.putBack(key.about, at: now) }
    let counted = counted(key, at: now)
    var bucket = buckets[counted] ?? EventBucket(isFullAt: now)
    defer { buckets[counted] = bucket }
    if let suppressed = admission.suppressed {
      bucket.suppressed += suppressed
      bucket.makeRoom(counted.interval)
      if !counted.isEarned { all.makeRoom(bound.interval) }
    } else if !isRequired {
      // An event that was written meanwhile told it already.
      bucket.suppressed = max(0, bucket.suppressed - 1)
    }
  }

  /// The key under which it counts. Beyond the bound all names and applications share one for each answer; those are
  /// few.
  private mutating func counted(_ key: EventThrottle.Key, at now: MonotonicTime) -> EventThrottle.Key {
    let limit = key.isEarned ? 2 * EventThrottle.maximumKeys : EventThrottle.maximumKeys
    guard buckets[key] == nil, buckets.count >= limit else { return key }
    if nextLook <= now {
      forgetQuiet(at: now)
      nextLook = now.advanced(by: RefusalThrottle.interval)
    }
    return buckets.count < limit ? key : key.shared
  }

  /// Forgets the names that had no event for long. The events that were left out since are added to the shared counts.
  private mutating func forgetQuiet(at now: MonotonicTime) {
    for (key, bucket) in buckets where bucket.isFullAt <= now && key.about != nil {
      buckets[key] = nil
      guard bucket.suppressed > 0 else { continue }
      buckets[key.shared, default: EventBucket(isFullAt: now)].suppressed += bucket.suppressed
    }
  }
}

/// A name in an application, in one word: a caller that makes up long names takes no more memory by it. No caller can
/// foresee it, since each process hashes in its own way; two names that share one by chance share a count.
struct NameHash: Hashable {
  let value: UInt

  init(_ applicationID: String, _ name: String) {
    var hasher = Hasher()
    // By bytes: to `String`, an "é" is the same composed and decomposed.
    for var text in [applicationID, name] {
      hasher.combine(text.utf8.count)
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    value = UInt(bitPattern: hasher.finalize())
  }
}

/// How often the posture of a call is kept where its event is left out: once a minute for each active binding that a
/// caller names.
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
