// A second finger (R22, R25, R26), and afterwards the service's explanation and audit log.

internal import SimulatedPhone
internal import TouchstoneClient
internal import TouchstoneStore
internal import TouchstoneStoreSQLite

extension DemoStory {
  func fingerIsAdded(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("A second finger is added. The key of the old set is dead, and the service sees the change.")
    phone.phone.enroll("left index")
    narrator.note("(phone) a second finger is enrolled")
    try narrator.expect(!phone.isAlive(keys.biometry), "the key of the old set to be dead")
    var evaluation = try await begin("login", keys)
    try narrator.expect(evaluation.domainState == .changed, "the verdict CHANGED")
    try narrator.expect(!evaluation.factors.contains(.biometry), "biometrics not to be offered")
    narrator.note("domain state CHANGED: biometrics are no longer offered")
    try await submit(evaluation, typed(passcode), expecting: .succeeded)

    evaluation = try await begin("login", keys)
    try narrator.expect(evaluation.domainState == .unchanged, "the verdict UNCHANGED")
    narrator.note("domain state UNCHANGED: with her passcode Ada vouched for the new set. The phone needs a new key")
  }

  func rulesExplainThemselves(_ keys: Keys) async throws(WrongAnswer) {
    narrator.title("Support asks: what if her phone still ran iOS 8.4?")
    var posture = phone.posture
    posture.osVersion = "8.4"
    let request = V1.BeginEvaluationRequest(
      applicationID: application, policy: "deviceOwnerAuthentication", bindingID: keys.bindingID,
      localizedReason: "Log in to the shop", posture: posture)
    let answer = try await call(client.explainEvaluation, V1.ExplainEvaluationRequest(begin: request))
    let obstacles = answer.trace.filter { !$0.passed }
    try narrator.expect(answer.answer?.denial?.reason == "OS_TOO_OLD", "OS_TOO_OLD")
    try narrator.expect(obstacles.contains { $0.rule == "R2" }, "rule R2 to say no")
    narrator.call("ExplainEvaluation", "OS_TOO_OLD, by \(answer.trace.count) rules asked")
    for row in obstacles { narrator.note("\(row.rule): \(row.detail)") }
  }

  func auditTells() async throws(WrongAnswer) {
    narrator.title("All of it is in the audit log.")
    let log = try await call(
      client.listEvents, V1.ListEventsRequest(filter: V1.EventFilter(applicationID: application), pageSize: 1_000))
    let kinds = Set(log.events.map(\.kind))
    try narrator.expect(
      kinds.isSuperset(of: [
        "binding.created", "binding.revoked", "secret.set", "evaluation.succeeded", "evaluation.locked_out",
      ]),
      "bindings, secrets, successes and the lockout in the log")
    narrator.call("ListEvents", "\(log.events.count) events")
    try verifyAuditLog(knowing: log.events.count)
  }

  /// As `touchstone audit verify` does, beside the running service.
  private func verifyAuditLog(knowing count: Int) throws(WrongAnswer) {
    let verification: AuditLogVerification
    do throws(StoreOpenError) {
      verification = try SQLiteAuditLog.verify(directory: dataDirectory)
    } catch {
      throw WrongAnswer(message: "the audit log to be read, not \(error.message)")
    }
    try narrator.expect(verification.fault == nil && verification.verifiedCount >= count, "a whole audit log")
    narrator.call("touchstone audit verify", "\(verification.verifiedCount) events, each as it was written")
  }
}
