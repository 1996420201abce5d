internal import FoundationEssentials

/// A run's result. As JSON it is one object; docs/LOAD.md describes the keys, which are the properties' names in snake
/// case. A change of a key's meaning raises `schemaVersion`; new keys do not.
package struct LoadReport: Codable, Sendable, CountedByClass {
  package static let currentSchema = 1

  package var schemaVersion = LoadReport.currentSchema
  package var scenario: String
  package var shape: String
  /// Several have commas between them.
  package var target: String
  /// Runs at the same time that this report joins.
  package var processes = 1
  /// Seconds since 1970.
  package var startedAt: Double
  package var seconds: Double
  package var connections: Int
  package var callers: Int

  package var due = 0
  package var succeeded = 0
  package var wrong = 0
  package var failed = 0
  package var timedOut = 0
  package var unfinished = 0
  package var unsent = 0
  /// wrong, failed, timed out and unfinished together.
  package var errors: Int
  package var failedByStatus: [String: Int]
  package var targets: [TargetEntry]
  package var wrongByReason: [String: Int]
  /// Successes per second of the measured part.
  package var rate: Double
  package var dueRate: Double
  /// Calls of the warm-up, which count nowhere else.
  package var warmupDue: Int
  package var warmupErrors: Int

  /// Latencies of all calls that were due, in microseconds from when they were due.
  package var p50Us: Int
  package var p90Us: Int
  package var p99Us: Int
  package var p999Us: Int
  package var p9999Us: Int
  package var maxUs: Int
  package var meanUs: Double

  /// Empty if the scenario has one flow.
  package var flows: [FlowEntry]
  /// Signatures of tokens that were verified, by the service's published keys.
  package var signaturesVerified = 0
  package var stalls: [StallEntry]
  package var windowSeconds: Double
  package var windows: [WindowEntry]
  package var client: ClientEntry
  package var service: ServiceEntry?
  /// Requests that the client repeated, for whatever call.
  package var retries = 0
  package var passcodes = 0
  package var passcodeErrors = 0
  package var search: SearchEntry?

  package var objectives: [ObjectiveEntry] = []
  package var verdict = Verdict.Outcome.valid
  package var reasons: [String] = []
  package var exitCode: Int32 = 0
  /// All latencies.
  package var histogram: LatencyHistogram

  /// The calls that were sent to one address: all that were due but the unsent ones.
  package struct TargetEntry: Codable, Sendable {
    package var target: String
    package var connections: Int
    package var sent: Int
    package var succeeded: Int
    package var wrong: Int
    package var failed: Int
    package var timedOut: Int
    package var unfinished: Int
    /// When it was away, in order; `nil`: an earlier version wrote the report.
    package var away: [AbsenceEntry]?

    package var errors: Int { wrong + failed + timedOut + unfinished }
  }

  /// A time in which an address refused all calls.
  package struct AbsenceEntry: Codable, Sendable {
    /// Seconds from the start of the measured part.
    package var start: Double
    package var seconds: Double
    package var calls: Int

    /// Times of several threads or runs: those that overlap are one.
    package static func merged(_ entries: [AbsenceEntry]) -> [AbsenceEntry] {
      entries.sorted { $0.start < $1.start }.reduce(into: []) { merged, entry in
        if let last = merged.last, entry.start <= last.start + last.seconds {
          merged[merged.count - 1].seconds = max(last.seconds, entry.start + entry.seconds - last.start)
          merged[merged.count - 1].calls += entry.calls
        } else {
          merged.append(entry)
        }
      }
    }
  }

  package struct StallEntry: Codable, Sendable {
    /// Seconds from the start of the measured part.
    package var start: Double
    package var seconds: Double
  }

  /// The calls that were due in one window; `answered` counts successes within it, whenever they were due.
  package struct WindowEntry: Codable, Sendable, CountedByClass {
    package var start: Double
    package var due = 0
    package var answered: Int
    package var succeeded = 0
    package var wrong = 0
    package var failed = 0
    package var timedOut = 0
    package var unfinished = 0
    package var unsent = 0
    package var p50Us: Int
    package var p99Us: Int
    package var maxUs: Int
    package var histogram: LatencyHistogram

    package var errors: Int { counts.errors }
  }

  /// The calls of one flow.
  package struct FlowEntry: Codable, Sendable, CountedByClass {
    package var name: String
    package var due = 0
    package var succeeded = 0
    package var wrong = 0
    package var failed = 0
    package var timedOut = 0
    package var unfinished = 0
    package var unsent = 0
    package var p50Us: Int
    package var p99Us: Int
    /// It has the form of the report's.
    package var histogram: LatencyHistogram

    package var errors: Int { counts.errors }
  }

  /// The client's own use of its machine, and its delays.
  package struct ClientEntry: Codable, Sendable {
    package var cpuSeconds: Double
    /// Shares of all cores that the client may use, and of the busiest thread that sends; 1 is all of it.
    package var cpuShare: Double
    package var busiestThreadShare: Double
    package var cpuUsPerCall: Double
    package var sendLagP99Us: Int
    package var sendLagMaxUs: Int
    /// Calls that had to wait for one of `callers`.
    package var callsWithoutCaller: Int
    /// Calls that had to wait for a phone of their flow, for it is used by one call at a time.
    package var callsWithoutPhone = 0
  }

  /// A service on this machine.
  package struct ServiceEntry: Codable, Sendable {
    package struct Sample: Codable, Sendable {
      package var at: Double
      package var cores: Double
      package var megabytes: Double

      package init(at: Double, cores: Double, megabytes: Double) {
        (self.at, self.cores, self.megabytes) = (at, cores, megabytes)
      }
    }

    package var pid: Int
    package var cpuSeconds: Double
    package var maxMegabytes: Double
    package var samples: [Sample]

    package init(pid: Int, cpuSeconds: Double, samples: [Sample]) {
      (self.pid, self.cpuSeconds, self.samples) = (pid, cpuSeconds, samples)
      maxMegabytes = samples.map(\.megabytes).max() ?? 0
    }
  }

  package struct SearchEntry: Codable, Sendable {
    package struct Trial: Codable, Sendable {
      package var rate: Double
      package var isMet: Bool
      package var succeededRate: Double
      package var errors: Int
      package var p50Us: Int
      package var p99Us: Int

      package init(_ report: LoadReport, rate: Double, isMet: Bool) {
        (self.rate, self.isMet, succeededRate) = (rate, isMet, report.rate)
        (errors, p50Us, p99Us) = (report.errors, report.p50Us, report.p99Us)
      }

      private enum CodingKeys: String, CodingKey {
        case rate, succeededRate, errors, p50Us, p99Us
        case isMet = "met"
      }
    }

    /// The highest rate that met the objectives; `nil`: none did.
    package var maxRate: Double?
    package var trials: [Trial]

    package init(maxRate: Double?, trials: [Trial]) {
      (self.maxRate, self.trials) = (maxRate, trials)
    }
  }

  package struct ObjectiveEntry: Codable, Sendable {
    package var objective: String
    package var measured: Double
    package var readable: String
    package var isMet: Bool

    private enum CodingKeys: String, CodingKey {
      case objective, measured, readable
      case isMet = "met"
    }
  }
}

extension LoadReport {
  /// The run, but for its result.
  package struct Run: Sendable {
    package var scenario: String
    package var shape: LoadShape
    /// Each address, with its connections.
    package var targets: [(name: String, connections: Int)]
    package var startedAt: Double
    package var callers: Int

    package init(
      scenario: String, shape: LoadShape, targets: [(name: String, connections: Int)], startedAt: Double, callers: Int
    ) {
      self.scenario = scenario
      self.shape = shape
      self.targets = targets
      self.startedAt = startedAt
      self.callers = callers
    }
  }

  /// - Parameter ledger: closed.
  package init(_ run: Run, _ ledger: CallLedger, _ client: ClientUse) {
    let counts = ledger.counts
    let latencies = ledger.latencies
    let seconds = ledger.span.inSeconds
    scenario = run.scenario
    shape = run.shape.description
    target = run.targets.map(\.name).joined(separator: ",")
    startedAt = run.startedAt
    self.seconds = seconds
    connections = run.targets.reduce(0) { $0 + $1.connections }
    callers = run.callers
    errors = counts.errors
    failedByStatus = ledger.failures
    targets = zip(run.targets, zip(ledger.targets, ledger.absences)).map {
      TargetEntry($0.name, connections: $0.connections, $1.0, $1.1)
    }
    wrongByReason = ledger.faults
    rate = Double(ledger.answered) / seconds
    dueRate = Double(counts.due) / seconds
    warmupDue = ledger.warmUp.due
    warmupErrors = ledger.warmUp.errors
    histogram = latencies
    p50Us = latencies.percentile(50)
    p90Us = latencies.percentile(90)
    p99Us = latencies.percentile(99)
    p999Us = latencies.percentile(99.9)
    p9999Us = latencies.percentile(99.99)
    maxUs = latencies.maximum
    meanUs = latencies.mean
    flows = ledger.flows.map { FlowEntry($0) }
    stalls = ledger.stalls.map { StallEntry(start: $0.start.inSeconds, seconds: $0.duration.inSeconds) }
    windowSeconds = ledger.windowWidth.inSeconds
    windows = ledger.windows.enumerated().map {
      WindowEntry($0.element, start: (ledger.windowWidth * $0.offset).inSeconds)
    }
    self.client = ClientEntry(client, ledger)
    self.counts = counts
  }

  package func value(of metric: Objective.Metric) -> Double {
    switch metric {
    case .percentile(let percentile): Double(histogram.percentile(percentile))
    case .mean: meanUs
    case .maximum: Double(maxUs)
    case .errors: Double(errors)
    case .errorShare: due == 0 ? 0 : Double(errors) / Double(due)
    case .rate: rate
    }
  }

  // MARK: JSON

  /// One line.
  package var json: String {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // No number in a report is infinite, which JSON could not express.
    guard let data = try? encoder.encode(self) else { preconditionFailure("a report has a number that JSON lacks") }
    return String(decoding: data, as: UTF8.self)
  }

  /// Reads reports, one on each line, or a single one that is spread over lines.
  package static func reports(fromJSON text: String) throws -> [LoadReport] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    if let report = try? decoder.decode(LoadReport.self, from: Data(text.utf8)) { return [report] }
    return try text.split(separator: "\n").filter { $0.contains { !$0.isWhitespace } }.map { line in
      try decoder.decode(LoadReport.self, from: Data(line.utf8))
    }
  }
}

extension LoadReport.WindowEntry {
  fileprivate init(_ window: LoadWindow, start: Double) {
    self.start = start
    answered = window.answered
    histogram = window.latencies
    p50Us = histogram.percentile(50)
    p99Us = histogram.percentile(99)
    maxUs = histogram.maximum
    counts = window.counts
  }
}

extension LoadReport.TargetEntry {
  fileprivate init(_ target: String, connections: Int, _ counts: CallCounts, _ absences: [Absence]) {
    self.target = target
    self.connections = connections
    sent = counts.due
    succeeded = counts.succeeded
    wrong = counts.wrong
    failed = counts.failed
    timedOut = counts.timedOut
    unfinished = counts.unfinished
    away = LoadReport.AbsenceEntry.merged(
      absences.map { .init(start: $0.start.inSeconds, seconds: ($0.end - $0.start).inSeconds, calls: $0.calls) })
  }
}

extension LoadReport.FlowEntry {
  fileprivate init(_ books: FlowBooks) {
    name = books.name
    p50Us = books.latencies.percentile(50)
    p99Us = books.latencies.percentile(99)
    histogram = books.latencies
    counts = books.counts
  }
}

extension LoadReport.ClientEntry {
  fileprivate init(_ use: ClientUse, _ ledger: CallLedger) {
    let ended = ledger.counts.due + ledger.warmUp.due
    cpuSeconds = use.cpuSeconds
    cpuShare = use.cpuShare
    busiestThreadShare = min(1, use.threadShare)
    cpuUsPerCall = ended == 0 ? 0 : use.cpuSeconds / Double(ended) * 1e6
    sendLagP99Us = ledger.sendLag.percentile(99)
    sendLagMaxUs = ledger.sendLag.maximum
    callsWithoutCaller = ledger.callsWithoutCaller
  }
}

/// The client's use of its machine, from the start of the warm-up to the end of the measured part.
package struct ClientUse: Sendable {
  package var cpuSeconds: Double
  package var cpuShare: Double
  /// The share of one thread that sends. All have equal parts of the load.
  package var threadShare: Double

  package init(cpuSeconds: Double, cpuShare: Double, threadShare: Double) {
    (self.cpuSeconds, self.cpuShare, self.threadShare) = (cpuSeconds, cpuShare, threadShare)
  }
}
