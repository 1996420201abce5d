// What an operator can change, and how it is asked of the service.

internal import TouchstoneCodec

/// An action on a profile. Its raw value stands in links and forms.
enum ConsoleAction: String, CaseIterable, Sendable {
  case unlockDevice = "unlock-device"
  case unlockPasscode = "unlock-passcode"
  case unlockGesture = "unlock-gesture"
  case revoke
  case erase

  var method: MethodDescriptor {
    switch self {
    case .unlockDevice: V1.AdministrationService.unlockDevice.descriptor
    case .unlockPasscode, .unlockGesture: V1.AdministrationService.unlockSecret.descriptor
    case .revoke: V1.BindingService.revokeBinding.descriptor
    case .erase: V1.AdministrationService.eraseProfile.descriptor
    }
  }

  /// Names a device or a binding beside the profile.
  var hasTarget: Bool { self == .unlockDevice || self == .revoke }

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
    case .revoke:
      profile.bindings.contains { $0.bindingID.utf8.elementsEqual(target.utf8) && $0.state == .active }
    case .erase: true
    }
  }

  /// Does it. Returns a number of archived events after an erasure, otherwise 0.
  func perform(
    by calls: OperatorCalls, applicationID: String, profileID: String, target: String, reason: String
  ) async throws(CallFailure) -> UInt64 {
    switch self {
    case .unlockDevice:
      _ = try await calls(
        V1.AdministrationService.unlockDevice,
        V1.UnlockDeviceRequest(applicationID: applicationID, deviceID: target, reason: reason))
    case .unlockPasscode, .unlockGesture:
      _ = try await calls(
        V1.AdministrationService.unlockSecret,
        V1.UnlockSecretRequest(
          applicationID: applicationID, profileID: profileID, kind: secretKind, reason: reason))
    case .revoke:
      _ = try await calls(
        V1.BindingService.revokeBinding,
        V1.RevokeBindingRequest(applicationID: applicationID, bindingID: target, reason: reason))
    case .erase:
      return try await calls(
        V1.AdministrationService.eraseProfile,
        V1.EraseProfileRequest(applicationID: applicationID, profileID: profileID, reason: reason)
      ).archivedThrough
    }
    return 0
  }
}
