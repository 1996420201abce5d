// The changes that an operator can make, and the calls for them.

internal import TouchstoneCodec

/// An action on a profile. Its raw value stands in links and forms.
enum ConsoleAction: Sendable, Hashable {
  case unlockDevice
  case unlockPasscode
  case unlockGesture
  case switchOn(UnlockSwitch)
  case switchOff(UnlockSwitch)
  /// Offers it before the others.
  case prefer(UnlockSwitch)
  case preferNone
  case revoke
  case erase

  var method: MethodDescriptor {
    switch self {
    case .unlockDevice: V1.AdministrationService.unlockDevice.descriptor
    case .unlockPasscode, .unlockGesture: V1.AdministrationService.unlockSecret.descriptor
    case .switchOn, .switchOff, .prefer, .preferNone: V1.SecretService.setUnlockSettings.descriptor
    case .revoke: V1.BindingService.revokeBinding.descriptor
    case .erase: V1.AdministrationService.eraseProfile.descriptor
    }
  }

  /// Names a device or a binding beside the profile.
  var hasTarget: Bool { self == .unlockDevice || self == .revoke }

  var changesSwitches: Bool { method.path == V1.SecretService.setUnlockSettings.path }

  /// No later action brings back what this one ends.
  var isFinal: Bool { self == .revoke || self == .erase || self == .switchOff(.gesture) }

  /// The service's own word for the kind of secret.
  private var secretKind: V1.SecretKind { self == .unlockGesture ? .gesture : .passcode }

  /// Whether the action still has an effect on the profile as it is. Another operator may have been first.
  func isDue(on profile: V1.GetProfileResponse, target: String) -> Bool {
    switch self {
    case .unlockDevice:
      profile.devices.contains {
        $0.deviceID.utf8.elementsEqual(target.utf8) && ($0.biometryLockedOut || $0.biometryFailures > 0)
      }
    case .unlockPasscode, .unlockGesture:
      profile.secrets.contains { $0.kind == secretKind && ($0.failures > 0 || $0.lockedUntil != nil) }
    case .switchOn, .switchOff, .prefer, .preferNone: profile.settings.map { changed($0) != $0 } ?? false
    case .revoke:
      profile.bindings.contains { $0.bindingID.utf8.elementsEqual(target.utf8) && $0.state == .active }
    case .erase: true
    }
  }

  /// The switches as they are after the action. A way that is off is not offered first.
  func changed(_ settings: V1.UnlockSettings) -> V1.UnlockSettings {
    var changed = settings
    switch self {
    case .switchOn(let way): way.set(true, in: &changed)
    case .switchOff(let way):
      way.set(false, in: &changed)
      if changed.preferred == way.factor { changed.preferred = .unspecified }
    case .prefer(let way): if way.isOn(in: settings) { changed.preferred = way.factor }
    case .preferNone: changed.preferred = .unspecified
    case .unlockDevice, .unlockPasscode, .unlockGesture, .revoke, .erase: break
    }
    return changed
  }

  /// The service's answer to an action.
  enum Result: Sendable {
    /// - Parameter archivedThrough: the number of archived events after an erasure, otherwise 0.
    case done(archivedThrough: UInt64 = 0)
    /// Another operator, or the person, did it first.
    case nothingToDo
  }

  ///
  /// - Parameter settings: the profile's switches as they were read, because the API sets all of them at once; `nil`
  ///   where the operator may not read them, and is refused.
  func perform(
    by calls: OperatorCalls, applicationID: String, profileID: String, target: String, settings: V1.UnlockSettings?,
    reason: String
  ) async throws(CallFailure) -> Result {
    switch self {
    case .unlockDevice:
      return try await calls(
        V1.AdministrationService.unlockDevice,
        V1.UnlockDeviceRequest(applicationID: applicationID, deviceID: target, reason: reason)
      ).changed ? .done() : .nothingToDo
    case .unlockPasscode, .unlockGesture:
      return try await calls(
        V1.AdministrationService.unlockSecret,
        V1.UnlockSecretRequest(
          applicationID: applicationID, profileID: profileID, kind: secretKind, reason: reason)
      ).changed ? .done() : .nothingToDo
    case .switchOn, .switchOff, .prefer, .preferNone:
      _ = try await calls(
        V1.SecretService.setUnlockSettings,
        V1.SetUnlockSettingsRequest(
          applicationID: applicationID, profileID: profileID, settings: settings.map(changed), reason: reason,
          expected: settings))
    case .revoke:
      _ = try await calls(
        V1.BindingService.revokeBinding,
        V1.RevokeBindingRequest(applicationID: applicationID, bindingID: target, reason: reason))
    case .erase:
      return .done(
        archivedThrough: try await calls(
          V1.AdministrationService.eraseProfile,
          V1.EraseProfileRequest(applicationID: applicationID, profileID: profileID, reason: reason)
        ).archivedThrough)
    }
    return .done()
  }
}

extension ConsoleAction: RawRepresentable, CaseIterable {
  static let allCases: [ConsoleAction] =
    [.unlockDevice, .unlockPasscode, .unlockGesture]
    + UnlockSwitch.allCases.flatMap { [.switchOn($0), .switchOff($0), .prefer($0)] } + [.preferNone, .revoke, .erase]

  init?(rawValue: String) {
    guard let action = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(rawValue.utf8) }) else { return nil }
    self = action
  }

  var rawValue: String {
    switch self {
    case .unlockDevice: "unlock-device"
    case .unlockPasscode: "unlock-passcode"
    case .unlockGesture: "unlock-gesture"
    case .switchOn(let way): "switch-on-\(way.rawValue)"
    case .switchOff(let way): "switch-off-\(way.rawValue)"
    case .prefer(let way): "prefer-\(way.rawValue)"
    case .preferNone: "prefer-none"
    case .revoke: "revoke"
    case .erase: "erase"
    }
  }
}

/// A way to unlock that a profile has on or off.
enum UnlockSwitch: String, CaseIterable, Sendable {
  case biometry
  case passcode
  case gesture

  var factor: V1.Factor {
    switch self {
    case .biometry: .biometry
    case .passcode: .passcode
    case .gesture: .gesture
    }
  }

  private var field: WritableKeyPath<V1.UnlockSettings, Bool> {
    switch self {
    case .biometry: \.biometryEnabled
    case .passcode: \.passcodeEnabled
    case .gesture: \.gestureEnabled
    }
  }

  func isOn(in settings: V1.UnlockSettings) -> Bool { settings[keyPath: field] }

  func set(_ isOn: Bool, in settings: inout V1.UnlockSettings) { settings[keyPath: field] = isOn }

  /// Without a secret, its switch changes nothing.
  func isSet(in settings: V1.UnlockSettings) -> Bool {
    switch self {
    case .biometry: true
    case .passcode: settings.passcodeSet
    case .gesture: settings.gestureSet
    }
  }
}
