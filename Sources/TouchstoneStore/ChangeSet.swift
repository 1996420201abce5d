// One decision's effects: all of them become durable, or none.

public import TouchstonePolicy

/// What one decision changes, and on what it rests.
public struct ChangeSet: Sendable, Hashable {
  /// Applied in order, after every version in them was found as it was read.
  public var changes: [Change]
  /// Appended to the audit log in the same transaction (R41).
  public var events: [EventDraft]

  public init(changes: [Change] = [], events: [EventDraft] = []) {
    self.changes = changes
    self.events = events
  }
}

/// One effect or one condition.
///
/// A record goes in with the version it was read at (0: it was not there) and is stored with the next one. Any
/// mismatch makes the whole change set a `StoreError.conflict`: read anew, decide again.
public enum Change: Sendable, Hashable {
  case putBinding(BindingRecord)
  case putDevice(DeviceRecord)
  case putProfile(ProfileRecord)
  case putEvaluation(EvaluationRecord)
  case putToken(TokenRecord)
  /// Uses a binding ticket; a conflict where it was used before (R28).
  case useTicket(ExpiringKey)
  /// The binding must still be at this version; sets `lastUsedAt` and keeps the version.
  case touchBinding(id: String, version: RecordVersion, lastUsedAt: UnixTime)
  /// The binding must still be at this version.
  case requireBinding(id: String, version: RecordVersion)
  /// The device must still be at this version.
  case requireDevice(id: String, version: RecordVersion)
}

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
}

public struct EventDetail: Sendable, Hashable {
  public var key: String
  public var value: String

  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

/// An event as it stands in the log.
public struct EventRecord: Sendable, Hashable {
  /// From 1, without gaps.
  public var sequence: UInt64
  public var event: EventDraft
  /// SHA-256 over the previous event's hash and this event (`EventChain`); 32 bytes.
  public var hash: [UInt8]

  public init(sequence: UInt64, event: EventDraft, hash: [UInt8]) {
    self.sequence = sequence
    self.event = event
    self.hash = hash
  }
}
