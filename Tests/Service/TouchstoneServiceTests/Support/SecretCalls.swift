// The calls that an application makes about a profile's passcode, gesture and settings.

import StoreModel
import TouchstoneCodec
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

typealias SecretAuthority = V1.SetSecretRequest.Authority

extension V1.Secret {
  static func passcode(_ text: String) -> V1.Secret { V1.Secret(kind: .passcode(V1.PasscodeProof(passcode: text))) }
  static func gesture(_ points: UInt32...) -> V1.Secret { V1.Secret(kind: .gesture(V1.GestureProof(points: points))) }
}

extension ServiceConfiguration {
  /// A guess costs next to nothing.
  mutating func hashCheaply() {
    guard let parameters = PasswordHasher.Parameters(memoryKibibytes: 8, passes: 1, lanes: 1) else {
      preconditionFailure("the least that Argon2 takes")
    }
    secretHashing = parameters
  }
}

extension TestService {
  /// A login that many seconds ago.
  func primary(_ age: Duration = .seconds(1)) -> V1.PrimaryAuthentication {
    V1.PrimaryAuthentication(method: "password", authenticatedAt: V1.Timestamp(clock.now + (.zero - age)))
  }

  /// - Parameters:
  ///   - confirmation: the same unless given.
  ///   - authority: a fresh login unless given.
  func set(
    _ secret: V1.Secret?, confirmation: V1.Secret? = nil, by authority: SecretAuthority? = nil,
    of profileID: String = "alice", applicationID: String = applicationID
  ) async throws -> V1.SetSecretResponse {
    try await call(
      "SecretService/SetSecret",
      V1.SetSecretRequest(
        applicationID: applicationID, profileID: profileID, secret: secret, confirmation: confirmation ?? secret,
        authority: authority ?? .primary(primary())))
  }

  func remove(
    _ kind: V1.SecretKind, by authority: V1.RemoveSecretRequest.Authority? = nil, of profileID: String = "alice",
    applicationID: String = applicationID
  ) async throws -> V1.RemoveSecretResponse {
    try await call(
      "SecretService/RemoveSecret",
      V1.RemoveSecretRequest(
        applicationID: applicationID, profileID: profileID, kind: kind, authority: authority ?? .primary(primary())))
  }

  func settings(
    of profileID: String = "alice", applicationID: String = applicationID
  ) async throws -> V1.UnlockSettings {
    let response: V1.GetUnlockSettingsResponse = try await call(
      "SecretService/GetUnlockSettings",
      V1.GetUnlockSettingsRequest(applicationID: applicationID, profileID: profileID))
    return response.settings ?? V1.UnlockSettings()
  }

  func set(
    _ settings: V1.UnlockSettings?, of profileID: String = "alice", applicationID: String = applicationID
  ) async throws -> V1.UnlockSettings {
    let response: V1.SetUnlockSettingsResponse = try await call(
      "SecretService/SetUnlockSettings",
      V1.SetUnlockSettingsRequest(applicationID: applicationID, profileID: profileID, settings: settings))
    return response.settings ?? V1.UnlockSettings()
  }

  func profile(
    _ profileID: String = "alice", applicationID: String = applicationID
  ) async throws -> V1.GetProfileResponse {
    try await call(
      "AdministrationService/GetProfile", V1.GetProfileRequest(applicationID: applicationID, profileID: profileID))
  }

  func unlock(_ kind: V1.SecretKind, of profileID: String = "alice") async throws {
    let _: V1.UnlockSecretResponse = try await call(
      "AdministrationService/UnlockSecret",
      V1.UnlockSecretRequest(
        applicationID: Self.applicationID, profileID: profileID, kind: kind, reason: "the person called"))
  }

  /// As by another replica, between this one's reading and its writing.
  func eraseBeforeNextCommit(_ profileID: String = "alice") {
    let erasure = ProfileErasure(
      applicationID: Self.applicationID, profileID: profileID, time: clock.now, caller: "admin", reason: "")
    store.beforeNextCommit { try? $0.apply(ChangeSet(changes: [.eraseProfile(erasure)])) }
  }

  func erase(_ profileID: String = "alice", applicationID: String = applicationID) async throws {
    let _: V1.EraseProfileResponse = try await call(
      "AdministrationService/EraseProfile",
      V1.EraseProfileRequest(applicationID: applicationID, profileID: profileID, reason: "ticket 4711"))
  }

  /// How a passcode stands, as it is stored.
  func passcodeStanding(of profileID: String = "alice") -> SecretStanding {
    store.records.profile(Self.applicationID, profileID).standing.passcode
  }
}
