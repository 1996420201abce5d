// The report as a table, for people.

extension LoadReport {
  package var text: String {
    let title =
      "\(scenario), \(shape), \(seconds.brief) s on \(target), \(connections) connections, "
      + "at most \(callers.grouped) callers"
      + (processes > 1 ? ", joined from \(processes) processes" : "")
    let parts = [
      classRows, targetRows, [""], latencyRows, [""], flowRows, faultRows, stallRows, clientRows, serviceRows,
      searchRows, objectiveRows, verdictRows,
    ]
    return ([title, ""] + parts.flatMap(\.self)).joined(separator: "\n")
  }

  private var classRows: [String] {
    let statuses = failedByStatus.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.grouped)" }
    return [
      row("due", due, "\(dueRate.fixed(1))/s"),
      row("succeeded", succeeded, "\(share(succeeded)), \(rate.fixed(1))/s"),
      row("wrong", wrong, share(wrong)),
      row("failed", failed, ([share(failed)] + statuses).joined(separator: ", ")),
      row("timed out", timedOut, share(timedOut)),
      row("unfinished", unfinished, share(unfinished)),
      row("unsent", unsent, share(unsent)),
    ]
  }

  private var targetRows: [String] {
    let rows = targets.count < 2 ? absenceRows : targets.map(row(of:)) + absenceRows
    return rows.isEmpty ? [] : [""] + rows
  }

  private func row(of target: TargetEntry) -> String {
    "\(target.target): sent \(target.sent.grouped), succeeded \(target.succeeded.grouped), errors \(target.errors.grouped)"
  }

  private var absenceRows: [String] {
    targets.flatMap { target in
      let absences = target.away ?? []
      let shown = absences.prefix(10).map {
        "\(target.target) was away for \($0.seconds.fixed(2)) s from second \($0.start.fixed(2)) on: "
          + "\($0.calls.grouped) calls UNAVAILABLE"
      }
      return absences.count > shown.count ? shown + ["and \(absences.count - shown.count) times more"] : shown
    }
  }

  private var latencyRows: [String] {
    let columns = [
      ("p50", p50Us), ("p90", p90Us), ("p99", p99Us), ("p99.9", p999Us), ("p99.99", p9999Us), ("max", maxUs),
    ]
    let width = 11
    return [
      columns.map { $0.0.padded(to: width) }.joined(), columns.map { $0.1.asTime.padded(to: width) }.joined(),
    ]
  }

  /// One line for each flow, if there are several.
  private var flowRows: [String] {
    guard !flows.isEmpty else { return [] }
    let columns = ["due", "succeeded", "errors", "unsent", "p50", "p99"]
    let nameWidth = (flows.map(\.name.count) + ["flow".count]).max() ?? 0
    func line(_ name: String, _ cells: [String]) -> String {
      name + String(repeating: " ", count: nameWidth - name.count) + cells.map { $0.padded(to: 11) }.joined()
    }
    return [line("flow", columns)]
      + flows.map { flow in
        let counts = [flow.due, flow.succeeded, flow.errors, flow.unsent].map(\.grouped)
        return line(flow.name, counts + [flow.p50Us.asTime, flow.p99Us.asTime])
      } + [""]
  }

  private var faultRows: [String] {
    wrongByReason.sorted { $0.value > $1.value }.prefix(10).map {
      "wrong: \($0.key), \($0.value.grouped) times"
    }
  }

  private var stallRows: [String] {
    let shown = stalls.prefix(10).map { "no answer for \($0.seconds.fixed(2)) s from second \($0.start.fixed(2)) on" }
    return stalls.count > shown.count ? shown + ["and \(stalls.count - shown.count) stalls more"] : shown
  }

  private var clientRows: [String] {
    var rows = [
      "client: \(client.cpuUsPerCall.fixed(1)) µs CPU per call, \((client.cpuShare * 100).fixed(0)) % of its cores, "
        + "sent late by p99 \(client.sendLagP99Us.asTime), max \(client.sendLagMaxUs.asTime)"
    ]
    if warmupDue > 0 { rows.append("warm-up: \(warmupDue.grouped) calls, \(warmupErrors.grouped) errors") }
    if signaturesVerified > 0 { rows.append("signatures of tokens verified: \(signaturesVerified.grouped)") }
    if retries > 0 { rows.append("requests repeated by the client: \(retries.grouped)") }
    if passcodes + passcodeErrors > 0 {
      rows.append("passcodes beside it: \(passcodes.grouped), errors \(passcodeErrors.grouped)")
    }
    return rows
  }

  private var serviceRows: [String] {
    service.map {
      ["service: process \($0.pid), \($0.cpuSeconds.fixed(2)) s CPU, at most \($0.maxMegabytes.fixed(0)) MB"]
    } ?? []
  }

  private var searchRows: [String] {
    guard let search else { return [] }
    let trials = search.trials.map { trial in
      "  \(trial.rate.fixed(0).padded(to: 8))/s  \(trial.isMet ? "met   " : "missed")"
        + "  p50 \(trial.p50Us.asTime), p99 \(trial.p99Us.asTime), errors \(trial.errors.grouped)"
    }
    return ["", "trials:"] + trials
      + [search.maxRate.map { "highest rate: \($0.fixed(0))/s" } ?? "no rate meets the objectives"]
  }

  private var objectiveRows: [String] {
    objectives.isEmpty
      ? [] : [""] + objectives.map { "\($0.isMet ? "met   " : "missed") \($0.objective): \($0.readable)" }
  }

  private var verdictRows: [String] {
    switch verdict {
    case .valid: ["", reasons.isEmpty ? "valid" : "valid, but " + reasons.joined(separator: "; ")]
    case .missed: ["", "missed: " + reasons.joined(separator: "; ")]
    case .clientLimited: ["", "the client was the limit: " + reasons.joined(separator: "; ")]
    }
  }

  private func row(_ name: String, _ count: Int, _ detail: String) -> String {
    let padding = String(repeating: " ", count: 12 - name.count)
    return "\(name)\(padding)\(count.grouped.padded(to: 12))   \(detail)"
  }

  package func share(_ count: Int) -> String {
    due == 0 ? "-" : "\((Double(count) / Double(due) * 100).fixed(2)) %"
  }
}

extension String {
  /// Aligned to the right.
  package func padded(to width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }
}
