internal import Crypto
internal import Encodings
public import TouchstonePolicy

/// An erasure of a profile. `Change.eraseProfile` removes:
///
/// - the content of every event that names the profile. Sequence, content digest and hash stay, so that the chain still
///   verifies. No transaction takes more than about `maximumEventsPerTransaction` of them, so that other commits come
///   in between;
/// - with the last of them, in its change set's transaction, the profile's record and its bindings (revoked ones too,
///   with the latest postures of their devices).
///
/// If the process ends before the last transaction, the profile is still there, and a repeated erasure takes what is
/// left.
///
/// Each transaction that takes a content, and the first one, appends the events that account for its part
/// (`accounts(ofErased:)`): without them, a removed content is tampering. The devices stay, because applications share
/// them (R8). Tokens stay, too, because they name no person and expire.
public struct ProfileErasure: Sendable, Hashable {
  public let applicationID: String
  public let profileID: String
  public let time: UnixTime
  /// The identity of the calling service.
  public let caller: String
  /// The caller's text. It stays in the log, so it does not name the profile.
  public let reason: String

  /// - Precondition: neither id is empty, because events that name no profile have an empty one.
  public init(applicationID: String, profileID: String, time: UnixTime, caller: String, reason: String) {
    precondition(!applicationID.isEmpty && !profileID.isEmpty, "an erasure needs a profile and its application")
    self.applicationID = applicationID
    self.profileID = profileID
    self.time = time
    self.caller = caller
    self.reason = reason
  }

  public static let eventKind = "profile.erased"
  /// Four full accounts. They occupy SQLite's only writer for some 15 ms, and lock the audit log's end in PostgreSQL
  /// for less.
  package static let maximumEventsPerTransaction = 4 * maximumEventsPerAccount
  /// One account lists at most this many erased events, whose numbers and digests take about 3 KB.
  static let maximumEventsPerAccount = 64

  private static let countKey = "erased_events"
  private static let sequencesKey = "erased_sequences"
  private static let digestsKey = "erased_digests"

  /// The events that list the erased ones by number. There is at least one, and none names the profile.
  ///
  /// - Parameter events: in rising order.
  public func accounts(ofErased events: [ErasedEvent]) -> [EventDraft] {
    guard !events.isEmpty else { return [account(ofErased: [])] }
    return stride(from: 0, to: events.count, by: Self.maximumEventsPerAccount).map { start in
      account(ofErased: events[start..<min(start + Self.maximumEventsPerAccount, events.count)])
    }
  }

  private func account(ofErased events: ArraySlice<ErasedEvent>) -> EventDraft {
    EventDraft(
      time: time, kind: Self.eventKind, applicationID: applicationID, caller: caller,
      details: [
        EventDetail(key: Self.countKey, value: "\(events.count)"),
        EventDetail(key: Self.sequencesKey, value: events.map { "\($0.sequence)" }.joined(separator: ",")),
        EventDetail(
          key: Self.digestsKey,
          value: Hexadecimal.text(events.flatMap { $0.digest.prefix(DigestPrefix.byteCount) })),
        .statedReason(reason),
      ])
  }

  /// The erased events that this account lists; none if it is no account, or if `accounts(ofErased:)` would not make
  /// it.
  package static func events(accountedBy event: EventDraft) -> [AccountedErasure] {
    guard event.kind == eventKind, let list = event.details.first(where: { $0.key == sequencesKey })?.value,
      let digests = event.details.first(where: { $0.key == digestsKey })?.value
    else { return [] }
    let numbers = list.split(separator: ",", maxSplits: maximumEventsPerAccount, omittingEmptySubsequences: false)
      .map { UInt64($0) }
    guard numbers.count <= maximumEventsPerAccount, !numbers.contains(nil) else { return [] }
    let byteCount = DigestPrefix.byteCount
    guard digests.utf8.count == numbers.count * byteCount * 2, let bytes = Hexadecimal.bytes(digests) else { return [] }
    return numbers.enumerated().map { index, number in
      AccountedErasure(sequence: number!, digest: DigestPrefix(bytes[(index * byteCount)...]))
    }
  }
}

/// An event whose content an erasure removed.
public struct ErasedEvent: Sendable, Hashable {
  public var sequence: UInt64
  /// The digest of the content that it had: 32 bytes.
  public var digest: [UInt8]

  public init(sequence: UInt64, digest: [UInt8]) {
    self.sequence = sequence
    self.digest = digest
  }
}

/// An event that an account lists.
public struct AccountedErasure: Sendable, Hashable {
  public var sequence: UInt64
  /// The digest of the removed content: no other content may be missing there. `nil`: only that it is gone is known.
  package var digest: DigestPrefix?
}

/// The first 16 bytes of a content's digest. Finding another content with the same bytes takes 2^128 tries, because the
/// service salts each event.
package struct DigestPrefix: Sendable, Hashable {
  static let byteCount = 16

  private let high: UInt64
  private let low: UInt64

  /// - Parameter digest: only its first bytes count; missing ones count as 0.
  init(_ digest: some Collection<UInt8>) {
    func word(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    high = word(digest.prefix(8))
    low = word(digest.dropFirst(8).prefix(8))
  }
}

extension ProfileErasure {
  package enum Finding: Sendable, Hashable {
    /// It may lose its content.
    case erasable(ErasedEvent)
    /// Its content was already removed.
    case isErased
    /// It is not as it was written. Its content stays, and no account lists it: otherwise an attacker who altered it
    /// would get a signature for the removal of the original content.
    case broken
  }

  /// - Parameters:
  ///   - record: an event that a search for the profile found, as it is now. `nil`: it is missing or unreadable.
  ///   - previousHash: the hash of the event before it.
  package func finding(_ record: EventRecord?, after previousHash: [UInt8]?) -> Finding {
    guard let record else { return .broken }
    guard let event = record.event else { return .isErased }
    guard let previousHash, EventChain.follows(record, from: previousHash), names(event) else { return .broken }
    return .erasable(ErasedEvent(sequence: record.sequence, digest: record.content.digest))
  }

  /// An altered index may also find other events.
  private func names(_ event: EventDraft) -> Bool {
    Identifier.areEqual(event.applicationID, applicationID) && Identifier.areEqual(event.profileID, profileID)
      && !AccountClaim.isAccount(event)
  }
}

extension ChangeSet {
  /// The erasures in the change set, almost always none.
  package var erasures: [ProfileErasure] {
    changes.compactMap { change in
      if case .eraseProfile(let erasure) = change { erasure } else { nil }
    }
  }
}

extension ProfileRecord {
  /// In front of an erasure mark's id. No profile can have such an id, since identifiers hold no control characters.
  package static let erasureMarkPrefix: UInt8 = 4

  /// The id of the record whose version is the profile's erasure mark: 0 if there is none.
  ///
  /// Each erasure of the profile, known or not, raises the mark, to no less than the version of the record that it
  /// removed. The profile's next first version is above it.
  ///
  /// An application's profiles whose ids have the same first byte of their SHA-256 share a mark: a mark for each id
  /// would keep what an erasure removes. An erasure meets one in 256 of the application's tickets that rest on a mark.
  public static func erasureMarkID(forProfile profileID: String) -> String {
    let byte = SHA256.hash(of: Array(profileID.utf8)).first { _ in true } ?? 0
    return String(decoding: [erasureMarkPrefix], as: UTF8.self) + Hexadecimal.text([byte])
  }
}

extension ProfileErasure {
  /// It rises by one before the erasure looks for what it removes.
  package var markID: String { ProfileRecord.erasureMarkID(forProfile: profileID) }
}
