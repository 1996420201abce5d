// TouchID's part that reads the phone: posture, prompts, keys, installation.

import Foundation
import LocalAuthentication

extension TouchID {
  /// Reads the posture of this moment, and the error of the biometrics.
  func readPosture() throws -> (posture: Posture, error: Int?) {
    let context = LAContext()
    var biometrics: NSError?
    var owner: NSError?
    _ = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &biometrics)
    var fingers = context.evaluatedPolicyDomainState
    #if compiler(>=6)
      if #available(iOS 18, macOS 15, visionOS 2, *) { fingers = context.domainState.biometry.stateHash }
    #endif
    _ = context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &owner)
    let device = settings.device
    var posture = try Posture(platform: device.platform, osVersion: device.osVersion, deviceModel: device.model)
    try posture.read(
      type: context.biometryType.rawValue, biometricsError: biometrics?.code, deviceOwnerError: owner?.code,
      domainState: fingers)
    return (posture, biometrics?.code)
  }

  /// Returns whether the set of fingers or faces is another one. A locked phone does not tell.
  func haveFingersChanged(_ posture: Posture) throws -> Bool {
    guard let known = try keychain.binding()?.fingers, !known.isEmpty, !posture.domainState.isEmpty else {
      return false
    }
    return known != posture.domainState
  }

  /// Prompts for the key's protection. The key signs without a prompt afterwards.
  func prompt(_ context: LAContext, for protection: Protection, _ reason: String) async throws {
    if protection == .devicePasscode {
      _ = try await context.evaluateAccessControl(
        Keychain.accessControl(protection), operation: .useKeySign, localizedReason: reason)
    } else {
      _ = try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: reason)
    }
  }

  /// - Throws: if the keychain or the file cannot be read now, as before the phone's first unlock.
  func state() async throws -> PhoneState {
    let binding = try keychain.binding()
    let context = LAContext()
    context.interactionNotAllowed = true
    let made = binding?.made.compactMap(Protection.init) ?? []
    let found = try made.filter { protection in
      try binding.map { try keychain.key(protection, in: $0.slot, context: context) != nil } ?? false
    }
    return PhoneState(
      kept: binding.map {
        PhoneState.Kept(profile: $0.profile, installation: $0.installation, made: Set(made.map(\.factor)))
      },
      installation: try installation(), found: Set(found.map(\.factor)), profile: await backend.profile())
  }

  private func installation() throws -> String? {
    let file = settings.installationFile
    return FileManager.default.fileExists(atPath: file.path) ? try String(contentsOf: file, encoding: .utf8) : nil
  }

  /// The installation's id, made at the first use.
  func makeInstallation() throws -> String {
    if let id = try installation() { return id }
    let id = UUID().uuidString
    let folder = settings.installationFile.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(id.utf8).write(to: settings.installationFile, options: .atomic)
    return id
  }
}

extension Evaluation {
  /// Seconds from now for which it is relied on.
  var lifetime: TimeInterval {
    // Without the fraction, which the formatter would not read.
    let whole = expiresAt.map { $0.prefix { $0 != "." && $0 != "Z" } + "Z" }
    let expiry = whole.flatMap { ISO8601DateFormatter().date(from: String($0)) } ?? .distantPast
    return Self.lifetime(until: expiry.timeIntervalSince1970, at: Date().timeIntervalSince1970)
  }
}

extension Protection {
  var factor: Factor { self == .devicePasscode || self == .userPresence ? .deviceOwner : .biometry }
}
