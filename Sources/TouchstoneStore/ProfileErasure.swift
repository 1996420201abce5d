// Forgetting a profile: its records go, its events lose their content, and the log says how many did.

public import TouchstonePolicy

/// What `Change.eraseProfile` removes, all in its change set's transaction:
///
/// - the profile's record, its bindings (revoked ones too, with the postures that their devices were seen with), and what was counted on its stand-ins;
/// - the content of every event that names the profile. Sequence, content digest and hash stay, so that the chain still
///   verifies.
///
/// The store appends the events that account for it (`accounts(ofErased:)`): without them, a removed content is
/// tampering. The devices stay, since they are shared (R8), and so do tokens, which name nobody and expire.
public struct ProfileErasure: Sendable, Hashable {
  public let applicationID: String
  public let profileID: String
  public let time: UnixTime
  /// The identity of the calling service.
  public let caller: String
  /// The caller's text. It stays in the log, so it does not name the profile.
  public let reason: String

  /// - Precondition: neither id is empty, for that is how events stand which name no profile.
  public init(applicationID: String, profileID: String, time: UnixTime, caller: String, reason: String) {
    precondition(!applicationID.isEmpty && !profileID.isEmpty, "nobody's events cannot be erased")
    self.applicationID = applicationID
    self.profileID = profileID
    self.time = time
    self.caller = caller
    self.reason = reason
  }

  public static let eventKind = "profile.erased"
  /// So many erased events are accounted for by one: their numbers take about 2 KB.
  static let maximumSequencesPerEvent = 256

  private static let countKey = "erased_events"
  private static let sequencesKey = "erased_sequences"

  /// The events that say what was erased, by number: at least one, none of them names the profile.
  ///
  /// - Parameter sequences: rising.
  public func accounts(ofErased sequences: [UInt64]) -> [EventDraft] {
    guard !sequences.isEmpty else { return [account(ofErased: [])] }
    return stride(from: 0, to: sequences.count, by: Self.maximumSequencesPerEvent).map { start in
      account(ofErased: sequences[start..<min(start + Self.maximumSequencesPerEvent, sequences.count)])
    }
  }

  private func account(ofErased sequences: ArraySlice<UInt64>) -> EventDraft {
    EventDraft(
      time: time, kind: Self.eventKind, applicationID: applicationID, caller: caller,
      details: [
        EventDetail(key: Self.countKey, value: "\(sequences.count)"),
        EventDetail(key: Self.sequencesKey, value: sequences.map { "\($0)" }.joined(separator: ",")),
        EventDetail(key: "reason", value: reason),
      ])
  }

  /// Which events this one says were erased; none, where it is no account or not as `accounts(ofErased:)` makes them.
  package static func sequences(accountedBy event: EventDraft) -> [UInt64] {
    guard event.kind == eventKind, let list = event.details.first(where: { $0.key == sequencesKey })?.value else {
      return []
    }
    let numbers = list.split(
      separator: ",", maxSplits: maximumSequencesPerEvent, omittingEmptySubsequences: false
    ).map { UInt64($0) }
    guard numbers.count <= maximumSequencesPerEvent, !numbers.contains(nil) else { return [] }
    return numbers.compactMap(\.self)
  }
}

extension ChangeSet {
  /// Almost always none.
  package var erasures: [ProfileErasure] {
    changes.compactMap { change in
      if case .eraseProfile(let erasure) = change { erasure } else { nil }
    }
  }
}
