// Whom an attempt may name, and what it rests on.

/// Whom an attempt names. Another application's binding is as unknown as one that never was.
public enum AttemptSubject: Sendable, Hashable {
  case binding(applicationID: String, bindingID: String)
  /// No device is known.
  case profile(applicationID: String, profileID: String)
  /// Whose active binding holds the ProfileTouchID with this digest (R30).
  case profileTouchID(applicationID: String, digest: [UInt8])
}

/// Behind one reference: on their way from the store to a decision they pass through many hands, and to copy a binding, a
/// device and a profile in each of them was a tenth of a preflight.
public struct AttemptRecords: Sendable, Hashable {
  private struct Fields: Sendable, Hashable {
    var binding: BindingRecord?
    var device: DeviceRecord
    var profile: ProfileRecord
    var evaluation: EvaluationRecord?
  }

  /// `@unchecked Sendable`: it is only written to where nobody else holds it.
  private final class Storage: @unchecked Sendable {
    var fields: Fields

    init(_ fields: Fields) {
      self.fields = fields
    }
  }

  private var storage: Storage

  /// `nil`: there is no such binding, or the subject is a profile.
  public var binding: BindingRecord? {
    _read { yield storage.fields.binding }
  }

  /// The binding's device, version 0 where nothing is known of it; for an unknown binding the stand-in
  /// (`DeviceRecord.standInID`); for a profile or an unknown ProfileTouchID the placeholder.
  public var device: DeviceRecord {
    _read { yield storage.fields.device }
  }

  /// The binding's or the named profile, version 0 where nothing is known of it; for an unknown binding the stand-in
  /// (`ProfileRecord.standInID`); for an unknown ProfileTouchID the placeholder.
  public var profile: ProfileRecord {
    _read { yield storage.fields.profile }
  }

  /// `nil`: not asked for, or no attempt was made in it.
  public var evaluation: EvaluationRecord? {
    _read { yield storage.fields.evaluation }
    set {
      if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.fields) }
      storage.fields.evaluation = newValue
    }
  }

  public init(
    binding: BindingRecord?, device: DeviceRecord, profile: ProfileRecord, evaluation: EvaluationRecord?
  ) {
    storage = Storage(Fields(binding: binding, device: device, profile: profile, evaluation: evaluation))
  }

  public static func == (left: AttemptRecords, right: AttemptRecords) -> Bool {
    left.storage.fields == right.storage.fields
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(storage.fields)
  }
}
