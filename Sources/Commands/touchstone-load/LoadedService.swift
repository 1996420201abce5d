// The service under load. A run does not know whether phones log in or some other method is called.

internal import LoadModel

protocol LoadedService: Sendable {
  /// Its name in reports.
  var scenario: String { get }

  /// - Parameters:
  ///   - lane: serves the connections.
  ///   - callers: calls that may wait in it.
  func client(of target: String, on lane: LoadLane, connections: Int, callers: Int) -> any LoadedClient

  /// Slow work beside the load; `nil`: none.
  func typists() async throws(LoadError) -> Typists?

  /// Counts that calls of all runs so far added up beside their outcomes.
  func counts(on lanes: [LoadLane]) async -> LaneState.Counts
}

extension LoadedService {
  func typists() async throws(LoadError) -> Typists? { nil }

  func counts(on lanes: [LoadLane]) async -> LaneState.Counts { LaneState.Counts() }
}

/// Connections to one address, and what callers do over them.
protocol LoadedClient: Workload {
  /// Opens the connections, and throws an error that names the address if it is not the service's.
  func reach() async throws(LoadError)

  /// How many requests it repeated.
  var retries: Int { get }

  /// Waits for no more answers.
  func close() async
}
