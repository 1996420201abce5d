// The names of profiles that are unknown, or have no active secret: what they show, and how they count guesses (R37).

internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// Makes a name without a secret look like a profile with one, to a caller that does not have the secret. The counts
/// are in memory: a restart forgets them, and each replica has its own (docs/THREATS.md).
final class UnknownNames: Sendable {
  private let kinds: SipHash
  private let pepper: Pepper
  private let table = Mutex(UnknownNameTable())

  init(pepper: Pepper) {
    kinds = pepper.sipHash(purpose: "stand-in profile")
    self.pepper = pepper
  }

  /// - Parameter profile: the record of the name, also of version 0.
  func name(of profile: ProfileRecord) -> UnknownName {
    let digest = pepper.digest(
      of: Array(profile.applicationID.utf8), Array(profile.profileID.utf8), purpose: "unknown name")
    guard let id = UniqueID(bytes: digest.prefix(16)) else { preconditionFailure("a digest has 32 bytes") }
    return table.withLock { UnknownName(id: id, counts: $0[id]) }
  }

  /// Writes the count after its commit (`SecretHolder.change`). The call holds the secret's lock, so nothing else
  /// of this process writes the count.
  func note(_ count: NameCount, by caller: Caller) {
    guard case .name(let name) = count.holder else { return }
    table.withLock { $0.set(count.standing, of: count.kind, at: name.id, by: caller.identity) }
  }

  private static let secrets: [[Factor]] = [[.passcode], [.gesture], [.passcode, .gesture], [.passcode]]

  /// What a name shows of secrets and settings.
  ///
  /// It is computed from the name and the service's pepper, so it is the same at every time and on every replica. It
  /// varies as real profiles do, so an offer does not reveal that a name is known. If a release changed the
  /// computation, a caller that asked before and after it would learn which names are unknown.
  ///
  /// A known name needs no looks, so the computation must take almost no time. With one HMAC for each name, the answer
  /// came 13 µs later.
  func looks(of profile: ProfileRecord) -> ProfileStanding {
    // No identifier has a control character, so no two pairs make the same text.
    var chance = Chance(kinds.digest(of: "\(profile.applicationID)\u{2}\(profile.profileID)"))
    let set = Self.secrets[chance.next(of: Self.secrets.count)]
    var settings = UnlockSettings(
      isBiometryEnabled: chance.next(of: 8) != 0, isGestureEnabled: set.contains(.gesture),
      isPasscodeEnabled: set.contains(.passcode))
    // Most people set no preference.
    if chance.next(of: 4) == 0 { settings.preferred = set[chance.next(of: set.count)] }
    return ProfileStanding(
      settings: settings, passcode: SecretStanding(isSet: set.contains(.passcode)),
      gesture: SecretStanding(isSet: set.contains(.gesture)))
  }

  /// Draws from a digest, eight bits at a time.
  private struct Chance {
    private var bits: UInt64

    init(_ digest: UInt64) {
      bits = digest
    }

    mutating func next(of count: Int) -> Int {
      defer { bits >>= 8 }
      return Int(bits & 0xFF) % count
    }
  }
}

/// A named profile's place in the table, with the counts that were there when it was read.
struct UnknownName: Sendable {
  /// A keyed digest: the table has no names.
  fileprivate let id: UniqueID
  fileprivate let counts: UnknownNameTable.Counts

  /// - Parameter kind: passcode or gesture. `nil`: no attempt was counted.
  func standing(of kind: Factor) -> SecretStanding? { counts[kind] }
}

/// A count of attempts at a secret, and what counts them.
struct NameCount: Sendable {
  var standing: SecretStanding
  /// Passcode or gesture.
  var kind: Factor
  var holder: SecretHolder
}

/// What counts the attempts at a secret: the profile that has it, or the name of one that has none.
enum SecretHolder: Sendable {
  case profile(ProfileRecord)
  case name(UnknownName)

  /// - Parameter name: `nil`: a binding leads to the profile, which then counts in any case.
  init(_ profile: ProfileRecord, _ name: UnknownName?, _ kind: Factor) {
    if let name, profile.secret(kind)?.standing.isSet != true { self = .name(name) } else { self = .profile(profile) }
  }

  var isProfile: Bool {
    if case .profile = self { true } else { false }
  }

  /// Writes the standing; `nil`: it counts at a name, where `CallRunner` notes it after the commit.
  ///
  /// - Parameter verifier: `nil`: as it was.
  func change(to standing: SecretStanding, of kind: Factor, verifier: [UInt8]? = nil, at now: UnixTime) -> Change? {
    guard case .profile(var profile) = self else { return nil }
    profile.settle(kind, standing, verifier: verifier, at: now)
    return .putProfile(profile)
  }
}

extension Change {
  /// For the counts of a named profile, whether they are in its record or at its name. It keeps nothing, because no
  /// binding's id is empty, and its commit waits for the disk, so both kinds of commit go the same way and take as long
  /// (R37).
  static let asMuchAsAnyCount = Change.notePosture(
    bindingID: "",
    SeenPosture(.empty, deviceModel: "", seenAt: UnixTime(microseconds: 0), isProven: false))
}

/// The counts of attempts at names without a secret. Pure.
///
/// Each count holds a `SecretStanding` and follows the rules of a profile's. If there are too many names, the caller
/// that counted at the most new ones loses its oldest: no caller's guesses make another one's counts vanish before its
/// own.
struct UnknownNameTable: Sendable {
  /// Some 10 MB. Each costs its caller a hash of 20 ms, so a flood takes some 20 minutes of a core to reach it.
  static let maximumNames = 65_536

  struct Counts: Sendable, Equatable {
    private var passcode: SecretStanding?
    private var gesture: SecretStanding?

    fileprivate(set) subscript(kind: Factor) -> SecretStanding? {
      get { kind == .gesture ? gesture : passcode }
      set { if kind == .gesture { gesture = newValue } else { passcode = newValue } }
    }
  }

  private struct Entry {
    var counts = Counts()
    /// The caller that counted there first.
    let caller: String
    var writing: UInt64 = 0
  }

  /// One caller's names in the order of their latest writings; outdated places stay until they are passed or sorted
  /// out.
  private struct Queue {
    var places: [(name: UniqueID, writing: UInt64)] = []
    var first = 0
    var nameCount = 0
  }

  private let maximum: Int
  private var entries: [UniqueID: Entry] = [:]
  private var queues: [String: Queue] = [:]
  private var writings: UInt64 = 0

  init(maximum: Int = Self.maximumNames) {
    self.maximum = maximum
  }

  var count: Int { entries.count }
  /// The entries of all queues, outdated ones too.
  var placeCount: Int { queues.values.reduce(0) { $0 + $1.places.count } }

  subscript(name: UniqueID) -> Counts { entries[name]?.counts ?? Counts() }

  mutating func set(_ standing: SecretStanding, of kind: Factor, at name: UniqueID, by caller: String) {
    if entries[name] == nil {
      if entries.count >= maximum { removeOldest() }
      entries[name] = Entry(caller: caller)
      queues[caller, default: Queue()].nameCount += 1
    }
    writings += 1
    entries[name]?.counts[kind] = standing
    entries[name]?.writing = writings
    guard let owner = entries[name]?.caller else { return }
    queues[owner]?.places.append((name, writings))
    sortOut(owner)
  }

  /// Removes a name of the caller with the most names. The search takes a look at each caller, beside which a guess
  /// costs a hash.
  private mutating func removeOldest() {
    guard let owner = queues.max(by: { $0.value.nameCount < $1.value.nameCount })?.key, var queue = queues[owner] else {
      return
    }
    while queue.first < queue.places.count {
      let place = queue.places[queue.first]
      queue.first += 1
      guard entries[place.name]?.writing == place.writing else { continue }
      entries[place.name] = nil
      queue.nameCount -= 1
      break
    }
    queues[owner] = queue.nameCount == 0 ? nil : queue
  }

  /// Keeps a caller's places to twice its names, and a few.
  private mutating func sortOut(_ owner: String) {
    guard let queue = queues[owner], queue.places.count > 2 * queue.nameCount + 16 else { return }
    queues[owner]?.places = queue.places.filter { entries[$0.name]?.writing == $0.writing }
    queues[owner]?.first = 0
  }
}
