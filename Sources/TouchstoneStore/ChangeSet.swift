// One decision's effects: all of them become durable, or none.

public import TouchstonePolicy

/// What one decision changes, and on what it rests.
public struct ChangeSet: Sendable, Hashable {
  /// Applied in order, after every version in them was found as it was read.
  public var changes: [Change]
  /// Appended to the audit log in the same transaction (R41), after those of an erasure.
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
  /// Sets `lastSeen` and keeps the version. Of a binding that is not there, nothing is kept.
  case notePosture(bindingID: String, SeenPosture)
  /// The binding must still be at this version.
  case requireBinding(id: String, version: RecordVersion)
  /// No binding of this id may be in this application; one of another application does not count.
  case requireNoBinding(applicationID: String, id: String)
  /// The device must still be at this version.
  case requireDevice(id: String, vendor: Vendor, version: RecordVersion)
  /// The profile must still be at this version.
  case requireProfile(applicationID: String, profileID: String, version: RecordVersion)
  /// The token's row must still be at this version (0: there is none).
  case requireToken(ExpiringKey, version: RecordVersion)
  /// Whatever is stored of the profile goes. Nothing else of it may be in the change set.
  case eraseProfile(ProfileErasure)
}
