// Decides which open streams of one kind keep their places when places are scarce. Pure.

/// How many streams of one kind may be open.
struct StreamLimits {
  var all: Int
  var strangersPerOwner: Int
  var callersPerOwner: Int

  /// A missing limit is the one for all.
  init(all: Int, strangersPerOwner: Int? = nil, callersPerOwner: Int? = nil) {
    self.all = all
    self.strangersPerOwner = strangersPerOwner ?? all
    self.callersPerOwner = callersPerOwner ?? all
  }
}

/// A stream is a stranger's until a call on its connection was admitted. At a limit the stranger that came first makes
/// room, as among connections (`ConnectionSlots`): a caller that watches before its first call always gets in.
/// Strangers never take a caller's place, and only callers' streams can fill all places.
///
/// If callers have all places, the caller that has the most gives one to a newcomer, as long as it keeps at least as
/// many as the newcomer then has. A caller therefore never loses a place of its fair share to another.
struct StreamPlaces<Member: Sendable, Owner: Hashable & Sendable>: Sendable {
  enum OnArrival: Sendable {
    case admit
    /// Admits the stream, and ends this one, which has no place any more.
    case admitEnding(Member)
    case refuse(Refusal)
  }

  enum Refusal: Equatable {
    /// The owner has as many as it may have.
    case owner
    /// All places are taken.
    case server
  }

  private struct Place: Sendable {
    let member: Member
    var owner: Owner
    var isStranger: Bool
  }

  private let limits: StreamLimits
  /// In the order of arrival.
  private var places: [Place] = []

  init(_ limits: StreamLimits) {
    self.limits = limits
  }

  var members: [Member] { places.map(\.member) }

  /// Streams whose connection had a call admitted meanwhile are its caller's from now on. Otherwise a caller with many
  /// addresses could have a place for each, and no other caller would have fewer.
  ///
  /// - Parameter caller: `nil`: still a stranger's.
  mutating func review(caller: (Member) -> Owner?) {
    for index in places.indices where places[index].isStranger {
      guard let owner = caller(places[index].member) else { continue }
      places[index].owner = owner
      places[index].isStranger = false
    }
  }

  mutating func arrived(_ member: Member, of owner: Owner, isStranger: Bool) -> OnArrival {
    let own = places.indices.filter { places[$0].owner == owner && places[$0].isStranger == isStranger }
    var ended: Int?
    if own.count >= (isStranger ? limits.strangersPerOwner : limits.callersPerOwner) {
      guard isStranger else { return .refuse(.owner) }
      ended = own.first
    } else if places.count >= limits.all {
      ended = places.firstIndex(where: \.isStranger) ?? (isStranger ? nil : unfairPlace(forCallerWith: own.count))
      if ended == nil { return .refuse(.server) }
    }
    let removed = ended.map { places.remove(at: $0).member }
    places.append(Place(member: member, owner: owner, isStranger: isStranger))
    return if let removed { .admitEnding(removed) } else { .admit }
  }

  /// The newest place of the caller that has the most, so that its older streams go on undisturbed. All places are
  /// callers'.
  private func unfairPlace(forCallerWith count: Int) -> Int? {
    let counts = Dictionary(places.lazy.map { ($0.owner, 1) }, uniquingKeysWith: +)
    guard let most = counts.values.max(), most >= count + 2 else { return nil }
    return places.lastIndex { counts[$0.owner] == most }
  }

  mutating func left(where isMember: (Member) -> Bool) {
    places.removeAll { isMember($0.member) }
  }
}
