internal import LoadModel
internal import LoadScenarios
internal import RPCChannel
internal import TouchstoneClient

/// The calls that the phones of a load make. A class, so that each call refers to all of it at once.
final class PhoneWorkload: Sendable {
  let scenario: Scenario
  private let target: String
  let client: TouchstoneClient
  let lane: LaneState
  private let fleet: PhoneFleet

  init(scenario: Scenario, fleet: PhoneFleet, target: String, client: TouchstoneClient, lane: LaneState) {
    (self.scenario, self.fleet, self.target, self.client, self.lane) = (scenario, fleet, target, client, lane)
  }

  /// Opens the connections, and throws an error that names the address if it is not the service's.
  func reach() async throws(LoadError) { try await client.reach(target) }

  /// The number of requests that it repeated.
  var retries: Int { client.statistics.retries }

  /// Waits for no more answers.
  func close() async { await client.close(grace: .zero) }

  /// The kinds of calls, which are booked apart.
  var flows: FlowMix { scenario.mix }
  /// The requests that were answered so far. A service is not silent while it answers some of a call's requests. Call
  /// it on the lane.
  var answers: Int { lane.answers }
  /// How long an answer may take at least before the service counts as silent at the end of a run.
  var patience: Duration { scenario.hasSecrets ? .seconds(1) : CallLedger.usualPatience }

  /// One call, from its first request to its last answer. A call may be several requests, such as a login.
  ///
  /// - Parameter number: counts the calls of the run, so that calls spread over phones.
  func perform(_ number: Int) async -> CallOutcome {
    let flow = scenario.flows[scenario.mix.flow(of: number)]
    if flow.share == .exclusive {
      let phone = await lane.takePhone()
      let outcome = await run(flow, number, phone)
      lane.giveBack(phone)
      return outcome
    }
    let phone = flow.needsPhone ? fleet.phone(number, flow.share) : nil
    var session = PhoneSession(work: self, phone: phone, number: number)
    // A passkey has no domain state.
    return await session.run(flow, knowsFinger: scenario.credential != .passkey)
  }

  /// A call that was cut off leaves a phone locked or changed, so the next call begins with the recovery.
  private func run(_ flow: Scenario.Flow, _ number: Int, _ phone: ExclusivePhone) async -> CallOutcome {
    var session = PhoneSession(work: self, phone: phone.phone, number: number)
    session.hasOtherFace = phone.hasOtherFace
    if phone.needsRecovery {
      let outcome = await session.run(Scenario.recovery, knowsFinger: false)
      guard outcome == .succeeded else { return outcome }
    }
    let outcome = await session.run(flow)
    phone.hasOtherFace = session.hasOtherFace
    phone.needsRecovery = outcome != .succeeded
    return outcome
  }
}
