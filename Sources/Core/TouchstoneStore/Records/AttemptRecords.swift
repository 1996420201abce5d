/// The subject of an attempt. Another application's binding is as unknown as one that never existed.
public enum AttemptSubject: Sendable, Hashable {
  case binding(applicationID: String, bindingID: String)
  /// No device is known.
  case profile(applicationID: String, profileID: String)
  /// The profile whose active binding holds the ProfileTouchID (R30) or the passkey (R46) with this digest.
  case profileTouchID(applicationID: String, digest: [UInt8])
}

/// A record that many hold at once and none changes. Copying it copies one reference: a binding, a device and a profile
/// have a dozen texts, and pass through many functions on their way from memory to a decision.
public final class SharedRecord<Record: Sendable>: Sendable {
  public let value: Record

  public init(_ value: Record) {
    self.value = value
  }
}

public struct AttemptRecords: Sendable {
  /// `binding`, for callers that need little of it.
  public let sharedBinding: SharedRecord<BindingRecord>?
  private let sharedDevice: SharedRecord<DeviceRecord>
  private let sharedProfile: SharedRecord<ProfileRecord>

  /// `nil`: there is no such binding, or the subject is a profile.
  public var binding: BindingRecord? {
    _read { yield sharedBinding?.value }
  }

  /// The binding's device, version 0 if nothing is known of it; without a binding the placeholder.
  public var device: DeviceRecord {
    _read { yield sharedDevice.value }
  }

  /// The binding's or the named profile, version 0 if nothing is known of it; without either the placeholder.
  public var profile: ProfileRecord {
    _read { yield sharedProfile.value }
  }

  /// `nil`: not requested, or no attempt was made in it.
  public var evaluation: EvaluationRecord?

  public init(
    binding: SharedRecord<BindingRecord>?, device: SharedRecord<DeviceRecord>, profile: SharedRecord<ProfileRecord>,
    evaluation: EvaluationRecord?
  ) {
    sharedBinding = binding
    sharedDevice = device
    sharedProfile = profile
    self.evaluation = evaluation
  }

  public init(
    binding: BindingRecord?, device: DeviceRecord, profile: ProfileRecord, evaluation: EvaluationRecord?
  ) {
    self.init(
      binding: binding.map { SharedRecord($0) }, device: SharedRecord(device), profile: SharedRecord(profile),
      evaluation: evaluation)
  }
}

extension AttemptRecords: Hashable {
  public static func == (left: AttemptRecords, right: AttemptRecords) -> Bool {
    left.binding == right.binding && left.device == right.device && left.profile == right.profile
      && left.evaluation == right.evaluation
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(binding)
    hasher.combine(device)
    hasher.combine(profile)
    hasher.combine(evaluation)
  }
}

extension DeviceRecord {
  /// If no device is known: never written.
  public static let placeholder = DeviceRecord(deviceID: "")
}

extension ProfileRecord {
  /// If no profile is known: never written.
  public static func placeholder(in applicationID: String) -> ProfileRecord {
    ProfileRecord(applicationID: applicationID, profileID: "")
  }
}

extension AttemptSubject {
  /// As long as nothing is known of the binding's device.
  package func newDevice(of binding: BindingRecord?, vendor: Vendor) -> DeviceRecord {
    binding.map { DeviceRecord(deviceID: $0.deviceID, vendor: vendor) } ?? .placeholder
  }

  /// As long as nothing is known of the binding's or the named profile.
  package func newProfile(of binding: BindingRecord?) -> ProfileRecord {
    let name = profileName(ofBinding: binding?.profileID)
    return ProfileRecord(applicationID: name.applicationID, profileID: name.profileID)
  }

  /// - Parameter profileID: the binding's; `nil`: there is no such binding.
  package func profileName(ofBinding profileID: String?) -> (applicationID: String, profileID: String) {
    switch self {
    case .binding(let applicationID, _), .profileTouchID(let applicationID, _): (applicationID, profileID ?? "")
    case .profile(let applicationID, let profileID): (applicationID, profileID)
    }
  }
}
