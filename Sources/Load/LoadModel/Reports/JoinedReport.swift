// One report of several runs at the same time, as if a single process had made all of their calls.

/// Why runs are not joined.
package struct JoinError: Error, CustomStringConvertible {
  package let description: String
}

extension LoadReport {
  /// Sums all counts and histograms, and takes percentiles of the sums. Windows are added to those that were closest in
  /// time.
  ///
  /// The clients' CPU time and delayed calls are summed; for their shares and lags the largest value counts. The
  /// verdict is not made yet.
  ///
  /// - Precondition: there is a report.
  package init(joining reports: [LoadReport]) throws(JoinError) {
    guard let first = reports.min(by: { $0.startedAt < $1.startedAt }) else { preconditionFailure("nothing to join") }
    for report in reports { try first.checkFits(report) }
    self = first
    processes = reports.sum(\.processes)
    targets = Self.joinedTargets(reports)
    target = targets.map(\.target).joined(separator: ",")
    connections = reports.sum(\.connections)
    callers = reports.sum(\.callers)
    seconds = (reports.map { $0.startedAt + $0.seconds }.max() ?? 0) - startedAt
    windows = joinedWindows(reports)
    flows = Self.joinedFlows(reports)
    sumCounts(reports)
    histogram = reports.reduce(into: LatencyHistogram()) { $0.add($1.histogram) }
    maxUs = reports.map(\.maxUs).max() ?? 0
    func percentile(_ percentile: Double) -> Int { min(histogram.percentile(percentile), maxUs) }
    (p50Us, p90Us, p99Us) = (percentile(50), percentile(90), percentile(99))
    (p999Us, p9999Us) = (percentile(99.9), percentile(99.99))
    meanUs = reports.reduce(0) { $0 + $1.meanUs * Double($1.due) } / Double(max(1, due))
    stalls = joinedStalls(reports)
    client = ClientEntry(joining: reports)
    service = reports.lazy.compactMap(\.service).first
    (objectives, reasons) = ([], [])
  }

  private func checkFits(_ other: LoadReport) throws(JoinError) {
    func check(_ name: String, _ values: (String, String)) throws(JoinError) {
      guard values.0 == values.1 else {
        throw JoinError(description: "the runs differ in their \(name): \(values.0) and \(values.1)")
      }
    }
    try check("schema version", ("\(schemaVersion)", "\(other.schemaVersion)"))
    try check("scenario", (scenario, other.scenario))
    try check("shape", (shape, other.shape))
    try check("windows' length", ("\(windowSeconds.brief) s", "\(other.windowSeconds.brief) s"))
    guard other.startedAt < startedAt + seconds else {
      let seconds = (other.startedAt - startedAt).fixed(1)
      throw JoinError(description: "the runs were not at the same time: one began \(seconds) s after another")
    }
    guard search == nil, other.search == nil else {
      throw JoinError(description: "searches for a rate (--find-max) cannot be joined")
    }
  }

  private mutating func sumCounts(_ reports: [LoadReport]) {
    counts = reports.reduce(into: CallCounts()) { $0.add($1.counts) }
    errors = reports.sum(\.errors)
    failedByStatus = reports.reduce(into: [:]) { $0.merge($1.failedByStatus, uniquingKeysWith: +) }
    wrongByReason = reports.reduce(into: [:]) { $0.merge($1.wrongByReason, uniquingKeysWith: +) }
    rate = Double(windows.reduce(0) { $0 + $1.answered }) / seconds
    dueRate = Double(due) / seconds
    warmupDue = reports.sum(\.warmupDue)
    warmupErrors = reports.sum(\.warmupErrors)
    retries = reports.sum(\.retries)
    signaturesVerified = reports.sum(\.signaturesVerified)
    passcodes = reports.sum(\.passcodes)
    passcodeErrors = reports.sum(\.passcodeErrors)
  }

  /// Each address once, in the order in which the reports name them.
  private static func joinedTargets(_ reports: [LoadReport]) -> [TargetEntry] {
    let start = reports.map(\.startedAt).min() ?? 0
    let entries = reports.flatMap { report in report.targets.map { $0.shifted(by: report.startedAt - start) } }
    return entries.reduce(into: []) { joined, entry in
      if let index = joined.firstIndex(where: { $0.target == entry.target }) {
        joined[index].add(entry)
      } else {
        joined.append(entry)
      }
    }
  }

  /// Each flow once. Runs of one scenario have the same.
  private static func joinedFlows(_ reports: [LoadReport]) -> [FlowEntry] {
    reports.flatMap(\.flows).reduce(into: []) { joined, entry in
      if let index = joined.firstIndex(where: { $0.name == entry.name }) {
        joined[index].add(entry)
      } else {
        joined.append(entry)
      }
    }
  }

  private func joinedWindows(_ reports: [LoadReport]) -> [WindowEntry] {
    var joined: [WindowEntry] = []
    for report in reports {
      let shift = Int(((report.startedAt - startedAt) / windowSeconds).rounded())
      for (index, window) in report.windows.enumerated() {
        while joined.count <= index + shift {
          joined.append(WindowEntry(emptyAt: windowSeconds * Double(joined.count)))
        }
        joined[index + shift].add(window)
      }
    }
    return joined
  }

  /// A time without an answer in any of the runs; times that overlap are one.
  private func joinedStalls(_ reports: [LoadReport]) -> [StallEntry] {
    let stalls = reports.flatMap { report in
      report.stalls.map { StallEntry(start: $0.start + report.startedAt - startedAt, seconds: $0.seconds) }
    }
    return stalls.sorted { $0.start < $1.start }.reduce(into: []) { joined, stall in
      if let last = joined.last, stall.start <= last.start + last.seconds {
        joined[joined.count - 1].seconds = max(last.seconds, stall.start + stall.seconds - last.start)
      } else {
        joined.append(stall)
      }
    }
  }
}

extension LoadReport.TargetEntry {
  /// As a run has it that began so many seconds earlier.
  fileprivate func shifted(by seconds: Double) -> Self {
    var entry = self
    entry.away = away?.map { .init(start: $0.start + seconds, seconds: $0.seconds, calls: $0.calls) }
    return entry
  }

  fileprivate mutating func add(_ other: Self) {
    connections += other.connections
    sent += other.sent
    succeeded += other.succeeded
    wrong += other.wrong
    failed += other.failed
    timedOut += other.timedOut
    unfinished += other.unfinished
    away = LoadReport.AbsenceEntry.merged((away ?? []) + (other.away ?? []))
  }
}

extension LoadReport.FlowEntry {
  fileprivate mutating func add(_ other: Self) {
    counts.add(other.counts)
    histogram.add(other.histogram)
    p50Us = histogram.percentile(50)
    p99Us = histogram.percentile(99)
  }
}

extension LoadReport.WindowEntry {
  fileprivate init(emptyAt start: Double) {
    self.start = start
    (answered, p50Us, p99Us, maxUs) = (0, 0, 0, 0)
    histogram = LatencyHistogram()
  }

  fileprivate mutating func add(_ other: Self) {
    counts.add(other.counts)
    answered += other.answered
    histogram.add(other.histogram)
    maxUs = max(maxUs, other.maxUs)
    p50Us = min(histogram.percentile(50), maxUs)
    p99Us = min(histogram.percentile(99), maxUs)
  }
}

extension LoadReport.ClientEntry {
  fileprivate init(joining reports: [LoadReport]) {
    let clients = reports.map(\.client)
    cpuSeconds = clients.reduce(0) { $0 + $1.cpuSeconds }
    cpuShare = clients.map(\.cpuShare).max() ?? 0
    busiestThreadShare = clients.map(\.busiestThreadShare).max() ?? 0
    cpuUsPerCall = cpuSeconds / Double(max(1, reports.sum(\.due) + reports.sum(\.warmupDue))) * 1e6
    sendLagP99Us = clients.map(\.sendLagP99Us).max() ?? 0
    sendLagMaxUs = clients.map(\.sendLagMaxUs).max() ?? 0
    callsWithoutCaller = clients.reduce(0) { $0 + $1.callsWithoutCaller }
    callsWithoutPhone = clients.reduce(0) { $0 + $1.callsWithoutPhone }
  }
}

extension [LoadReport] {
  fileprivate func sum(_ count: KeyPath<LoadReport, Int>) -> Int {
    reduce(0) { $0 + $1[keyPath: count] }
  }
}
