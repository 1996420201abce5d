// Runs of a load: each has connections of its own.

internal import FoundationEssentials
internal import Glibc
internal import LoadModel
internal import MonotonicClock

/// The settings of all runs.
struct LoadSettings: Sendable {
  var targets: [String]
  var connections: Int
  var streams: Int
  /// At most so many calls at a time; `nil`: as many as the shape needs.
  var callers: Int?
  var threads: Int
  /// How long one request may take.
  var timeout: Duration
  var warmUp: Duration
  var duration: Duration
  var grace: Duration

  /// Each takes a few kilobytes while the service does not answer.
  private static let maximumDefaultCallers = 50_000

  var closedCallers: Int { connections * streams }

  /// An open loop needs so many callers that they do not run out before calls time out.
  func callers(for shape: LoadShape) -> Int {
    if let callers { return callers }
    guard !shape.isClosed else { return closedCallers }
    let waiting = shape.peakRate * (timeout + .seconds(1)).inSeconds
    return max(closedCallers, Int(min(waiting, Double(Self.maximumDefaultCallers))))
  }
}

struct LoadRunner {
  private let settings: LoadSettings
  private let service: PhoneService
  private let lanes: [LoadLane]

  init(_ settings: LoadSettings, _ service: PhoneService) {
    self.settings = settings
    self.service = service
    lanes = (0..<settings.threads).map { LoadLane(number: $0) }
  }

  /// The result is not judged yet.
  func run(_ shape: LoadShape, watching watch: LiveView?) async throws(LoadError) -> LoadReport {
    let callers = settings.callers(for: shape)
    let clients = makeClients(callers: callers)
    // Connections are open before the first call counts.
    for client in clients.joined() { try await client.reach() }
    let typists = try await service.typists()
    let sampler = settings.targets.count == 1 ? ServiceSampler(target: settings.targets[0]) : nil
    let start = MonotonicTime.now()
    let begin = start + settings.warmUp
    let startedAt = Date.now.timeIntervalSince1970 + settings.warmUp.inSeconds
    let runs = lanes.indices.map { index in
      LaneRun(
        lanes[index],
        LanePlan(
          shape: shape, begin: begin, warmUp: settings.warmUp, span: settings.duration, grace: settings.grace,
          callers: share(of: callers, index, of: lanes.count), lane: index, lanes: lanes.count),
        clients[index])
    }
    let countsBefore = await service.counts(on: lanes)
    let cpu = ProcessCPU.seconds
    async let typed = typists?.type(for: settings.warmUp + settings.duration) ?? (0, 0)
    let watching = Task { await watch?.follow(runs, begin: begin, span: settings.duration) }
    let sampling = Task { await sampler?.samples(from: begin, for: settings.duration) }
    let results = await withTaskGroup(of: CallLedger.self) { group in
      for run in runs { group.addTask { await run.result() } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let wall = (MonotonicTime.now() - start).inSeconds
    let cpuSeconds = ProcessCPU.seconds - cpu
    watching.cancel()
    sampling.cancel()
    await watching.value
    var ledger = results[0]
    for result in results.dropFirst() { ledger.add(result) }
    var report = LoadReport(
      LoadReport.Run(
        scenario: service.scenario, shape: shape, targets: targets, startedAt: startedAt, callers: callers), ledger,
      ClientUse(
        cpuSeconds: cpuSeconds, cpuShare: cpuSeconds / wall / Double(ProcessCPU.cores),
        threadShare: cpuSeconds / wall / Double(lanes.count)))
    report.service = await sampling.value
    report.retries = clients.joined().reduce(0) { $0 + $1.retries }
    let counts = await service.counts(on: lanes)
    report.signaturesVerified = counts.signaturesVerified - countsBefore.signaturesVerified
    report.client.callsWithoutPhone = counts.callsWithoutPhone - countsBefore.callsWithoutPhone
    for client in clients.joined() { await client.close() }
    (report.passcodes, report.passcodeErrors) = await typed
    return report
  }

  /// For each lane, one client for each target. They share the connections.
  private func makeClients(callers: Int) -> [[PhoneWorkload]] {
    lanes.indices.map { lane in
      settings.targets.indices.map { target in
        service.client(
          of: settings.targets[target], on: lanes[lane], connections: connections(lane: lane, target: target),
          callers: callers)
      }
    }
  }

  private var targets: [(name: String, connections: Int)] {
    settings.targets.enumerated().map { index, name in
      (name, lanes.indices.reduce(0) { $0 + connections(lane: $1, target: index) })
    }
  }

  private func connections(lane: Int, target: Int) -> Int {
    share(of: settings.connections, lane * settings.targets.count + target, of: lanes.count * settings.targets.count)
  }

  private func share(of count: Int, _ index: Int, of parts: Int) -> Int {
    count / parts + (index < count % parts ? 1 : 0)
  }
}

enum ProcessCPU {
  /// User and system time of all threads.
  static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The processors that this process may use: the bits of "Cpus_allowed: ff" (proc(5)).
  static var cores: Int {
    let line = (TextFile.read("/proc/self/status") ?? "").split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }
    let digits = (line ?? "").dropFirst("Cpus_allowed:".count)
    return max(1, digits.reduce(0) { $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0) })
  }
}
