// The parts of the audit log (R41).

public import TouchstonePolicy

/// An audit event before the store gave it a number and a hash.
public struct EventDraft: Sendable, Hashable {
  public var time: UnixTime
  /// Dotted, lower case: "evaluation.succeeded", "binding.revoked".
  public var kind: String
  public var applicationID: String
  public var profileID: String
  public var deviceID: String
  public var bindingID: String
  /// The identity of the calling service.
  public var caller: String
  /// Small, never a secret. Order is part of the hash: sorted by key.
  public var details: [EventDetail]

  public init(
    time: UnixTime, kind: String, applicationID: String, profileID: String = "", deviceID: String = "",
    bindingID: String = "", caller: String, details: [EventDetail] = []
  ) {
    self.time = time
    self.kind = kind
    self.applicationID = applicationID
    self.profileID = profileID
    self.deviceID = deviceID
    self.bindingID = bindingID
    self.caller = caller
    self.details = details.sorted { $0.key < $1.key }
  }

  /// How much earlier than the one before an event may be by its own time. Replicas' clocks differ by up to 15 seconds
  /// before an alert fires (TouchstoneClockOffset), and a commit waits for its disk up to five.
  package static let timeTolerance = Duration.seconds(20)
}

public struct EventDetail: Sendable, Hashable {
  public var key: String
  public var value: String

  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }

  /// The text that a caller gave for what it did. Apart from "reason", which is a word of the service's own: no text
  /// may pass for one.
  package static func statedReason(_ text: String) -> EventDetail {
    EventDetail(key: "stated_reason", value: text)
  }
}

/// An event as it stands in the log.
public struct EventRecord: Sendable, Hashable {
  public enum Content: Sendable, Hashable {
    /// `salt`: random, so that an erased content cannot be guessed and the guess proven by its digest.
    case whole(EventDraft, salt: UniqueID)
    /// The content was removed with its profile. `digest`: 32 bytes (`EventChain.contentDigest`), so that the chain
    /// still verifies.
    case erased(digest: [UInt8])
  }

  /// From 1, without gaps.
  public var sequence: UInt64
  public var content: Content
  /// SHA-256 over the previous event's hash, the sequence and the content's digest (`EventChain`); 32 bytes.
  public var hash: [UInt8]

  public init(sequence: UInt64, content: Content, hash: [UInt8]) {
    self.sequence = sequence
    self.content = content
    self.hash = hash
  }

  /// `nil`: erased.
  public var event: EventDraft? {
    if case .whole(let event, _) = content { event } else { nil }
  }

  public var isErased: Bool { event == nil }

  /// Without its content, at its place in the chain.
  public func erased() -> EventRecord {
    EventRecord(sequence: sequence, content: .erased(digest: content.digest), hash: hash)
  }
}

extension EventRecord.Content {
  public var digest: [UInt8] {
    switch self {
    case .whole(let event, let salt): EventChain.contentDigest(of: event, salt: salt)
    case .erased(let digest): digest
    }
  }
}
