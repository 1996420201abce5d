internal import LoadScenarios
internal import TouchstoneClient

/// People that type their passcode beside the measured load, each once a second.
struct Typists: Sendable {
  private static let application = Scenario.defaultApplication
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
    do throws(TouchstoneError) {
      let passcode = V1.Secret(kind: .passcode(LoadPhone.passcode))
      for name in names { try await LoadPhone.set(passcode, application: application, profileID: name, client) }
    } catch {
      throw .unreachable("a passcode could not be set: \(error.code): \(error.message)")
    }
    return Typists(client: client, names: names)
  }

  /// One after the other, whether the one before was answered or not; then until all are answered.
  ///
  /// - Returns: how many were right, and how many had another answer.
  func type(for duration: Duration) async -> (succeeded: Int, failed: Int) {
    let begin = ContinuousClock.now
    let end = begin + duration
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
          applicationID: Self.application, evaluation: begun.evaluation, attempt: .passcode(LoadPhone.passcode),
          posture: Self.posture))
      return answer.outcome == .succeeded
    } catch {
      return false
    }
  }
}
