// Whom an attempt may name, and what it rests on.

/// Whom an attempt names. Another application's binding is as unknown as one that never was.
public enum AttemptSubject: Sendable, Hashable {
  case binding(applicationID: String, bindingID: String)
  /// No device is known.
  case profile(applicationID: String, profileID: String)
  /// Whose active binding holds the ProfileTouchID with this digest (R30).
  case profileTouchID(applicationID: String, digest: [UInt8])
}

public struct AttemptRecords: Sendable, Hashable {
  /// `nil`: there is no such binding, or the subject is a profile.
  public var binding: BindingRecord?
  /// The binding's device, version 0 where nothing is known of it; for an unknown binding the stand-in
  /// (`DeviceRecord.standInID`); for a profile or an unknown ProfileTouchID the placeholder.
  public var device: DeviceRecord
  /// The binding's or the named profile, version 0 where nothing is known of it; for an unknown binding the stand-in
  /// (`ProfileRecord.standInID`); for an unknown ProfileTouchID the placeholder.
  public var profile: ProfileRecord
  /// `nil`: not asked for, or no attempt was made in it.
  public var evaluation: EvaluationRecord?

  public init(
    binding: BindingRecord?, device: DeviceRecord, profile: ProfileRecord, evaluation: EvaluationRecord?
  ) {
    self.binding = binding
    self.device = device
    self.profile = profile
    self.evaluation = evaluation
  }
}
