// One run: bind the phones, let them loose, stop the clock, add up.

internal import Histogram
internal import TouchstoneClient

struct Load {
  let service: TouchstoneClientConfiguration
  let scenario: Scenario
  let connections: Int
  let streams: Int
  let warmup: Duration
  let duration: Duration
  /// Passcodes a second, beside the scenario; 0: none.
  let passcodes: Int
  /// Of all phones, a second; 0: as fast as they are answered.
  let rate: Int
  /// Whose phones log in, each at random; `nil`: phones that this run binds.
  let seeded: SeededPhones?

  func run() async throws(LoadError) -> Report {
    var configuration = service
    configuration.minimumConnections = connections
    configuration.maximumConnections = connections
    let client = TouchstoneClient(configuration: configuration)
    let run = UInt64.random(in: .min ... .max)
    let phones = seeded == nil ? try await bindPhones(client, run: run) : []
    let typists = passcodes == 0 ? nil : try await Typists.enrol(passcodes, service, run: run)
    let begin = ContinuousClock.now + warmup
    let window = MeasuredWindow(begin: begin, end: begin + duration)
    async let typed = typists?.type(until: window.end) ?? (0, 0)
    let tallies = await withTaskGroup(of: Tally.self) { group in
      let start = ContinuousClock.now
      let count = connections * streams
      for index in 0..<count {
        let pace = rate == 0 ? nil : Pace(rate: rate, phone: index, of: count, start: start)
        group.addTask {
          await Self.drive({ seeded?.random() ?? phones[index] }, scenario, client, window, pace)
        }
      }
      var sum = Tally()
      for await tally in group { sum.add(tally) }
      return sum
    }
    await client.close()
    return Report(load: self, tally: tallies, typed: await typed)
  }

  /// A binding for every phone, made in parallel.
  private func bindPhones(_ client: TouchstoneClient, run: UInt64) async throws(LoadError) -> [LoadPhone] {
    let results = await withTaskGroup(of: Result<LoadPhone, LoadError>.self) { group in
      for index in 0..<connections * streams {
        group.addTask {
          do throws(LoadError) {
            return .success(try await LoadPhone.bind(name: "load-\(run)-\(index)", client))
          } catch {
            return .failure(error)
          }
        }
      }
      var results: [Result<LoadPhone, LoadError>] = []
      for await result in group { results.append(result) }
      return results
    }
    var phones: [LoadPhone] = []
    for result in results { phones.append(try result.get()) }
    return phones
  }

  private static func drive(
    _ nextPhone: () -> LoadPhone, _ scenario: Scenario, _ client: TouchstoneClient, _ window: MeasuredWindow,
    _ pace: Pace?
  ) async -> Tally {
    var tally = Tally()
    var begin = pace?.first ?? .now
    while begin < window.end {
      if pace != nil { try? await Task.sleep(until: begin, clock: .continuous) }
      let phone = nextPhone()
      let hasSucceeded =
        switch scenario {
        case .login: await phone.logIn(client)
        case .preflight: await phone.preflight(client)
        }
      let end = ContinuousClock.now
      if begin >= window.begin, end <= window.end { tally.record(hasSucceeded, begin.duration(to: end)) }
      begin = pace.map { begin + $0.period } ?? end
    }
    return tally
  }
}

/// When one phone of many starts anew, so that all together keep a rate, evenly spread. One that is answered late starts
/// late, and its latency counts from when it was due.
struct Pace: Sendable {
  let first: ContinuousClock.Instant
  let period: Duration

  init(rate: Int, phone index: Int, of count: Int, start: ContinuousClock.Instant) {
    first = start + .seconds(1) * index / rate
    period = .seconds(1) * count / rate
  }
}

/// What is counted: what began and ended within it.
struct MeasuredWindow: Sendable {
  var begin: ContinuousClock.Instant
  var end: ContinuousClock.Instant
}

/// What one phone saw, or all of them.
struct Tally: Sendable {
  private(set) var completed = 0
  private(set) var errors = 0
  /// In microseconds; a call that takes longer than a minute counts as one minute.
  private(set) var latency = Histogram<UInt32>(highestTrackableValue: maximumMicroseconds)

  private static let maximumMicroseconds: UInt64 = 60_000_000

  mutating func record(_ hasSucceeded: Bool, _ duration: Duration) {
    guard hasSucceeded else {
      errors += 1
      return
    }
    completed += 1
    let (seconds, attoseconds) = duration.components
    let microseconds = UInt64(seconds) * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    latency.record(min(microseconds, Self.maximumMicroseconds))
  }

  mutating func add(_ other: Tally) {
    completed += other.completed
    errors += other.errors
    latency.add(other.latency)
  }
}
