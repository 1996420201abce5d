// Touchstone as its phones load it.

internal import LoadScenarios
internal import ServiceDestination
internal import TouchstoneClient

/// How clients of each target call it.
struct PhoneAccess: Sendable {
  private let tls: RPCClientTLS?
  private let metadata: Metadata
  private let timeout: Duration

  init(_ destination: Destination, _ load: LoadOptions) throws(LoadError) {
    (tls, metadata) = try destination.access()
    timeout = load.timeout.value
  }

  /// - Parameter callers: calls that may wait for streams rather than fail in the client.
  func configuration(of target: String, connections: Int, callers: Int) -> TouchstoneClientConfiguration {
    var configuration = TouchstoneClientConfiguration(
      target: target, minimumConnections: connections, maximumConnections: connections, metadata: metadata)
    configuration.tls = tls
    configuration.defaultTimeout = timeout
    configuration.maximumWaitingCalls = max(callers, configuration.maximumWaitingCalls)
    return configuration
  }
}

struct PhoneService: Sendable {
  private let work: Scenario
  private let access: PhoneAccess
  private let targets: [String]
  private let fleet: PhoneFleet
  /// One for each lane.
  private let states: [LaneState]
  private let passcodes: Int

  /// Takes the phones of the file and binds those that are missing, unless all are seeded. Nothing is bound before all
  /// targets have answered, and no target is called before the file was checked.
  init(
    _ scenario: Scenario, _ access: PhoneAccess, _ settings: LoadSettings, phoneFile: String?, passcodes: Int,
    seeded: SeededPhones?
  ) async throws(LoadError) {
    work = scenario
    self.access = access
    targets = settings.targets
    self.passcodes = passcodes
    let store = try phoneFile.map { path throws(LoadError) in
      try PhoneStore(opening: path, application: scenario.application)
    }
    var keys: PublishedKeys?
    for target in targets {
      let probe = TouchstoneClient(configuration: access.configuration(of: target, connections: 1, callers: 1))
      keys = try await probe.reach(target)
      await probe.close()
    }
    let run = Self.newRun()
    if let seeded {
      fleet = PhoneFleet(seeded)
    } else {
      let binder = TouchstoneClient(
        configuration: access.configuration(
          of: targets[0], connections: settings.connections, callers: settings.closedCallers))
      fleet = try await PhoneFleet.gather(
        scenario.phones(callers: settings.closedCallers, lanes: settings.threads), scenario.credential,
        application: scenario.application,
        target: targets.joined(separator: ","), keys: keys, store: store, run: run, binder)
      await binder.close()
    }
    states = (0..<settings.threads).map { [fleet, keys] lane in
      LaneState(
        run: run, number: lane, phones: fleet.exclusivePhones(lane: lane, of: settings.threads), keys: keys)
    }
  }

  /// Its name in reports.
  var scenario: String { work.name }

  /// Returns connections to one address, and what callers do over them.
  ///
  /// - Parameters:
  ///   - lane: serves the connections.
  ///   - callers: calls that may wait in it.
  func client(of target: String, on lane: LoadLane, connections: Int, callers: Int) -> PhoneWorkload {
    var configuration = access.configuration(of: target, connections: connections, callers: callers)
    configuration.eventLoop = lane.loop
    return PhoneWorkload(
      scenario: work, fleet: fleet, target: target, client: TouchstoneClient(configuration: configuration),
      lane: states[lane.number])
  }

  /// Slow work beside the load; `nil`: none.
  func typists() async throws(LoadError) -> Typists? {
    guard passcodes > 0 else { return nil }
    let configuration = access.configuration(of: targets[0], connections: 1, callers: passcodes)
    return try await Typists.enrol(passcodes, configuration, run: Self.newRun())
  }

  /// Returns what calls of all runs so far added up beside their outcomes.
  func counts(on lanes: [LoadLane]) async -> LaneState.Counts {
    var sum = LaneState.Counts()
    for lane in lanes { sum.add(await states[lane.number].counts(on: lane)) }
    return sum
  }

  /// Names what this run binds and enrols.
  private static func newRun() -> UInt64 {
    UInt64.random(in: .min ... .max)
  }
}

extension TouchstoneClient {
  /// Reads the service's signing keys; `nil` if this caller may not. Throws an error that names the address if no
  /// Touchstone is there.
  @discardableResult
  func reach(_ target: String) async throws(LoadError) -> PublishedKeys? {
    do throws(TouchstoneError) {
      return PublishedKeys(jwkSet: try await getSigningKeys(V1.GetSigningKeysRequest()).jwkSet)
    } catch {
      try LoadError.check(error.code, error.message, of: target)
      return nil
    }
  }
}
