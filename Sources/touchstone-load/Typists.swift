// People who type their passcode beside the load that is measured: slow checks, at a steady pace.

internal import Glibc
internal import TouchstoneClient

/// So many that each types once a second.
struct Typists: Sendable {
  private static let application = "touchstone-load"
  private static let passcode = V1.PasscodeProof(passcode: "correct horse")
  private static let posture = V1.DevicePosture(platform: "web", osVersion: "17.4")

  /// Connections of their own: their answers do not queue before the load's.
  private let client: TouchstoneClient
  private let names: [String]

  /// - Parameter count: passcodes a second.
  static func enrol(_ count: Int, _ service: TouchstoneClientConfiguration, run: UInt64) async throws(LoadError)
    -> Typists
  {
    let client = TouchstoneClient(configuration: service)
    let names = (0..<count).map { "typist-\(run)-\($0)" }
    let secret = V1.Secret(kind: .passcode(passcode))
    do throws(TouchstoneError) {
      for name in names {
        let response = try await client.setSecret(
          V1.SetSecretRequest(
            applicationID: application, profileID: name, secret: secret, confirmation: secret,
            authority: .primary(
              V1.PrimaryAuthentication(
                method: "password", authenticatedAt: V1.Timestamp(seconds: Int64(time(nil)))))))
        guard response.accepted else { throw TouchstoneError(code: .internalError, message: "not accepted") }
      }
    } catch {
      throw LoadError(description: "a passcode could not be set: \(error.code): \(error.message)")
    }
    return Typists(client: client, names: names)
  }

  /// One after the other until `end`, whether the one before was answered or not; then until all are answered.
  ///
  /// - Returns: how many were right, and how many had another answer.
  func type(until end: ContinuousClock.Instant) async -> (succeeded: Int, failed: Int) {
    let begin = ContinuousClock.now
    let results = await withTaskGroup(of: Bool.self) { group in
      var next = begin
      var count = 0
      while next < end, (try? await Task.sleep(until: next, clock: .continuous)) != nil {
        let name = names[count % names.count]
        group.addTask { await logIn(name) }
        count += 1
        next = begin + .seconds(1) * count / names.count
      }
      return await group.reduce(into: (succeeded: 0, failed: 0)) { results, hasSucceeded in
        if hasSucceeded { results.succeeded += 1 } else { results.failed += 1 }
      }
    }
    await client.close()
    return results
  }

  private func logIn(_ name: String) async -> Bool {
    do throws(TouchstoneError) {
      let begun = try await client.beginEvaluation(
        V1.BeginEvaluationRequest(
          applicationID: Self.application, policy: "login", localizedReason: "Log in", posture: Self.posture,
          profileID: name))
      let answer = try await client.submitAttempt(
        V1.SubmitAttemptRequest(
          applicationID: Self.application, evaluation: begun.evaluation, attempt: .passcode(Self.passcode),
          posture: Self.posture))
      return answer.outcome == .succeeded
    } catch {
      return false
    }
  }
}
