// One phone: a key, a binding, and what it does over and over.

internal import Glibc
internal import SimulatedPhone
internal import TouchstoneClient

struct LoadPhone: Sendable {
  private static let application = "touchstone-load"
  private static let posture = V1.DevicePosture(
    platform: "ios", osVersion: "17.4", deviceModel: "iPhone15,2", biometryType: .faceID, biometryAvailable: true,
    biometryEnrolled: true, passcodeSet: true, domainState: [UInt8](repeating: 0x5A, count: 32))

  private let key: SoftwareKey
  private let bindingID: String

  /// One that is bound already.
  init(key: SoftwareKey, bindingID: String) {
    self.key = key
    self.bindingID = bindingID
  }

  static func bind(name: String, _ client: TouchstoneClient) async throws(LoadError) -> LoadPhone {
    let key = SoftwareKey()
    do throws(TouchstoneError) {
      let begun = try await client.beginBinding(
        V1.BeginBindingRequest(
          applicationID: application, profileID: name, deviceID: randomDeviceID(),
          primary: V1.PrimaryAuthentication(
            method: "password", authenticatedAt: V1.Timestamp(seconds: Int64(time(nil)))),
          posture: posture))
      let completed = try await client.completeBinding(
        V1.CompleteBindingRequest(
          applicationID: application, ticket: begun.ticket, deviceName: name,
          keys: [
            V1.HardwareKey(
              publicKey: key.publicKeyX963, protection: .biometryCurrentSet, signature: key.sign(begun.signingInput))
          ], posture: posture))
      guard let binding = completed.binding else { throw TouchstoneError(code: .internalError, message: "no binding") }
      return LoadPhone(key: key, bindingID: binding.bindingID)
    } catch {
      throw LoadError(description: "a phone could not be bound: \(error.code): \(error.message)")
    }
  }

  /// 128 bits.
  private static func randomDeviceID() -> String {
    (0..<2).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }.joined()
  }

  func preflight(_ client: TouchstoneClient) async -> Bool {
    do throws(TouchstoneError) {
      return try await client.canEvaluatePolicy(
        V1.CanEvaluatePolicyRequest(
          applicationID: Self.application, policy: "login", bindingID: bindingID, posture: Self.posture)
      ).canEvaluate
    } catch {
      return false
    }
  }

  func logIn(_ client: TouchstoneClient) async -> Bool {
    do throws(TouchstoneError) {
      let begun = try await client.beginEvaluation(
        V1.BeginEvaluationRequest(
          applicationID: Self.application, policy: "login", bindingID: bindingID, localizedReason: "Log in",
          posture: Self.posture))
      let proof = V1.KeyProof(signature: key.sign(begun.signingInput), factor: .biometry)
      let answer = try await client.submitAttempt(
        V1.SubmitAttemptRequest(
          applicationID: Self.application, evaluation: begun.evaluation, attempt: .key(proof), posture: Self.posture))
      return answer.outcome == .succeeded
    } catch {
      return false
    }
  }
}
