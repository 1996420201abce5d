public import TouchstonePolicy

/// One decision's changes, of which all become durable or none, and the versions that they depend on.
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
/// A record is passed with the version at which it was read (0: it was not there) and stored with the next version. Any
/// mismatch makes the whole change set a `StoreError.conflict`: the caller reads and decides again.
public enum Change: Sendable, Hashable {
  case putBinding(BindingRecord)
  case putDevice(DeviceRecord)
  case putProfile(ProfileRecord)
  case putEvaluation(EvaluationRecord)
  case putToken(TokenRecord)
  /// Uses a binding ticket; a conflict if it was used before (R28).
  case useTicket(ExpiringKey)
  /// The binding must still be at this version; sets `lastUsedAt` and keeps the version.
  case touchBinding(id: String, version: RecordVersion, lastUsedAt: UnixTime)
  /// Sets `lastSeen` and keeps the version. If the binding does not exist, nothing is kept, but the commit waits for
  /// the disk, so that a commit with nothing to write can take as long as one that writes (R37).
  case notePosture(bindingID: String, SeenPosture)
  /// The binding's `proofCounter` must still be `from`; sets it to `to`, which is greater, and keeps the version. In a
  /// change set that touches or puts the binding.
  case raiseProofCounter(bindingID: String, from: UInt32, to: UInt32)
  /// Keeps the receipt of a binding's App Attest key, at most 16 KiB for Apple's service of risk metrics. In a change
  /// set that puts the binding; it goes when the binding is erased.
  case putReceipt(bindingID: String, [UInt8])
  /// Gives a binding's receipt, if it has one, to another one, in a change set that puts both.
  case moveReceipt(from: String, to: String)
  /// The binding must still be at this version.
  case requireBinding(id: String, version: RecordVersion)
  /// The device must still be at this version.
  case requireDevice(id: String, vendor: Vendor, version: RecordVersion)
  /// The profile must still be at this version. For an erasure mark (`ProfileRecord.erasureMarkID`), this means that
  /// none of its profiles was erased since the mark was read, whether it was made meanwhile or never.
  case requireProfile(applicationID: String, profileID: String, version: RecordVersion)
  /// The token's row must still be at this version (0: there is none).
  case requireToken(ExpiringKey, version: RecordVersion)
  /// Removes everything that is stored of the profile. The change set may have no other change of it. A bounded number
  /// of the events that name it lose their content with the change set, the others in further transactions before the
  /// commit completes.
  case eraseProfile(ProfileErasure)
}
