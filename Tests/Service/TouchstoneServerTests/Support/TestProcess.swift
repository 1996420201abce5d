// A whole service in the test's process, on a free port: started, reloaded and ended as `touchstone serve` does by
// signals.

import Dispatch
import DispatchRPC
import Synchronization
import TestSupport

@testable import TouchstoneServer

final class TestProcess: Sendable {
  let log: LogLines
  let address: SocketAddress
  /// The text of the metrics.
  let metrics: @Sendable () -> String
  private let configurationPath: String
  private let events: Events
  private let ended: AsyncStream<Void>

  /// - Parameter configuration: YAML settings, which the test may write anew.
  static func start(in directory: String, _ configuration: String = "") async throws -> TestProcess {
    let log = LogLines()
    let path = directory + "/touchstone.yaml"
    try File.write(configuration, to: path)
    let events = Events()
    let (ended, end) = AsyncStream<Void>.makeStream()
    let logger = log.logger
    let read: @Sendable () throws(Failure) -> ProcessConfiguration = { () throws(Failure) in
      try effectiveConfiguration(path, directory)
    }
    typealias Started = (address: SocketAddress, metrics: @Sendable () -> String)
    let result: Result<Started, Failure> = await withCheckedContinuation { started in
      // A start blocks its thread, and so does the waiting for events.
      startThread {
        do throws(Failure) {
          let configuration = try read()
          let service = try RunningService.start(configuration, logger: logger, version: "1.2.3-test")
          started.resume(returning: .success((service.addresses[0], service.metrics)))
          service.serve(configuration, logger: logger, until: { _ in events.next() }, reading: read)
          service.stop(grace: .seconds(5)) { end.finish() }
        } catch {
          started.resume(returning: .failure(error))
        }
      }
    }
    let started = try result.get()
    return TestProcess(log: log, address: started.address, metrics: started.metrics, path, events, ended)
  }

  /// In a directory of its own, until the test is over.
  static func run(
    _ configuration: String = "", _ test: (TestProcess, String) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { directory in
      let process = try await start(in: directory, configuration)
      do {
        try await test(process, directory)
      } catch {
        await process.stop()
        throw error
      }
      await process.stop()
    }
  }

  /// As `serve` does with its flags.
  private static func effectiveConfiguration(
    _ path: String, _ directory: String
  ) throws(Failure) -> ProcessConfiguration {
    var configuration = try ProcessConfiguration.load(path)
    configuration.listen = ["127.0.0.1:0"]
    configuration.dataDirectory = directory + "/data"
    configuration.shards = 1
    return configuration
  }

  private init(
    log: LogLines, address: SocketAddress, metrics: @escaping @Sendable () -> String, _ configurationPath: String,
    _ events: Events, _ ended: AsyncStream<Void>
  ) {
    self.log = log
    self.address = address
    self.metrics = metrics
    self.configurationPath = configurationPath
    self.events = events
    self.ended = ended
  }

  /// Returns the line that says what came of it.
  func reload(_ configuration: String) async throws -> LogLines.Line {
    try File.write(configuration, to: configurationPath)
    events.send(.reload)
    return await log.next(containing: "configuration re")
  }

  /// Writes the file and lets the service look at its files so many times. Returns when it has.
  func look(_ configuration: String? = nil, times: Int = 2) async throws {
    if let configuration { try File.write(configuration, to: configurationPath) }
    for _ in 0..<times { events.send(.look) }
    await events.allTaken()
  }

  /// Returns when the service has drained and its store is closed.
  func stop() async {
    events.send(.stop)
    for await _ in ended {}
  }
}

/// In their order, for a thread that waits.
private final class Events: Sendable {
  private struct State {
    var waiting: [ServiceEvent] = []
    /// Resumed when the thread has done with all events, and waits for another one.
    var allTaken: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let count = DispatchSemaphore(value: 0)

  func send(_ event: ServiceEvent) {
    state.withLock { $0.waiting.append(event) }
    count.signal()
  }

  /// After at least one was sent.
  func allTaken() async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.allTaken.append(continuation) }
      send(.look)
    }
  }

  func next() -> ServiceEvent {
    let idle = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      guard state.waiting.isEmpty else { return [] }
      defer { state.allTaken = [] }
      return state.allTaken
    }
    for continuation in idle { continuation.resume() }
    count.wait()
    return state.withLock { $0.waiting.removeFirst() }
  }
}
