// The report as one page that needs nothing beside itself.

internal import Glibc

extension LoadReport {
  package var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Load: \(title.escaped)</title>
    <style>\(Self.style)</style>
    </head>
    <body>
    <header>
    <h1>\(title.escaped)</h1>
    <p>\(target.escaped), \(connections) connections, at most \(callers.grouped) callers, \(seconds.brief) s, \
    begun \(Self.date(startedAt))\(joined)</p>
    <p class="verdict \(verdict.rawValue)">\(verdictText.escaped)</p>
    </header>
    <main>
    \(tiles)
    <section class="charts">
    \(charts.map(\.svg).joined(separator: "\n"))
    </section>
    <section class="tables">
    \(tables.joined(separator: "\n"))
    </section>
    </main>
    <footer>Latency counts from when a call was due. Each call that was due is in exactly one class. Shaded: no answer for more than \
    \(Stall.threshold.inMicroseconds.asAxisTime) while calls waited.</footer>
    </body>
    </html>

    """
  }

  private var title: String { "\(scenario), \(shape)" }

  private var joined: String { processes > 1 ? ", joined from \(processes) processes" : "" }

  private var verdictText: String {
    switch verdict {
    case .valid:
      (objectives.isEmpty ? "The run is valid" : "The run is valid and meets its objectives")
        + (reasons.isEmpty ? "." : ", but \(reasons.joined(separator: "; ")).")
    case .missed: "Missed: \(reasons.joined(separator: "; "))."
    case .clientLimited: "The client was the limit: \(reasons.joined(separator: "; "))."
    }
  }

  private var tiles: String {
    let tiles = [
      ("succeeded", "\(share(succeeded))"), ("answered", "\(rate.fixed(rate < 100 ? 1 : 0))/s"),
      ("errors", errors.grouped),
      ("p50", p50Us.asTime), ("p99", p99Us.asTime), ("p99.9", p999Us.asTime), ("max", maxUs.asTime),
    ]
    let items = tiles.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }
    return "<dl class=\"tiles\">\(items.joined())</dl>"
  }

  // MARK: Charts

  private var charts: [Chart] {
    let stalls = self.stalls.map { $0.start...min($0.start + $0.seconds, max(seconds, $0.start)) }
    let ticks = Chart.timeTicks(seconds)
    func overTime(
      _ title: String, _ label: @escaping (Double) -> String, _ lines: [(String, String, (WindowEntry) -> Double)]
    ) -> Chart {
      Chart(
        title: title,
        lines: lines.map { name, style, value in
          Chart.Line(name: name, style: style, points: windows.map { ($0.start + windowSeconds / 2, value($0)) })
        }, xTicks: ticks, xRange: 0...seconds, yLabel: label, marks: stalls)
    }
    let perSecond = { (count: Int) in Double(count) / windowSeconds }
    return [
      percentilePlot,
      overTime(
        "Latency over time", { Int($0).asAxisTime },
        [("max", "c3", { Double($0.maxUs) }), ("p99", "c2", { Double($0.p99Us) }), ("p50", "c1", { Double($0.p50Us) })]),
      overTime(
        "Calls per second", { $0.brief },
        [
          ("due", "c4", { perSecond($0.due) }), ("answered", "c1", { perSecond($0.answered) }),
          ("errors and unsent", "c3", { perSecond($0.errors + $0.unsent) }),
        ]),
    ] + serviceCharts(ticks, stalls)
  }

  /// Percentiles by the calls beyond them: 90 %, 99 %, 99.9 % and so on are equally far apart.
  private var percentilePlot: Chart {
    let nines = max(1, log10(max(10, Double(histogram.count))).rounded(.up))
    let points = stride(from: 0, through: nines, by: 0.05).map { position in
      (x: position, y: Double(histogram.percentile((1 - pow(10, -position)) * 100)))
    }
    let labels = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "5 nines", "6 nines", "7 nines", "8 nines", "9 nines"]
    return Chart(
      title: "Latency by percentile", lines: [Chart.Line(name: "latency", style: "c1", points: points)],
      xTicks: labels.prefix(Int(nines) + 1).enumerated().map {
        Chart.Tick(position: Double($0.offset), label: $0.element)
      },
      xRange: 0...nines, yLabel: { Int($0).asAxisTime })
  }

  private func serviceCharts(_ ticks: [Chart.Tick], _ stalls: [ClosedRange<Double>]) -> [Chart] {
    guard let service, !service.samples.isEmpty else { return [] }
    func chart(
      _ title: String, _ style: String, _ label: @escaping (Double) -> String, _ value: (ServiceEntry.Sample) -> Double
    ) -> Chart {
      let points = service.samples.map { (x: min($0.at + 0.5, seconds), y: value($0)) }
      return Chart(
        title: title, lines: [Chart.Line(name: title, style: style, points: points, isArea: true)],
        xTicks: ticks, xRange: 0...seconds, yLabel: label, leastHeight: 0.12, marks: stalls)
    }
    return [
      chart("The service's CPU, in cores", "a1", { $0.fixed(2) }) { $0.cores },
      chart("The service's memory, in MB", "a2", { $0.brief }) { $0.megabytes },
    ]
  }

  // MARK: Tables

  private var tables: [String] {
    let classes = [
      ("due", due), ("succeeded", succeeded), ("wrong", wrong), ("failed", failed), ("timed out", timedOut),
      ("unfinished", unfinished), ("unsent", unsent),
    ]
    let statuses = failedByStatus.sorted { $0.value > $1.value }
    return [
      table("Calls", ["class", "calls", "part"], classes.map { [$0.0, $0.1.grouped, share($0.1)] }),
      table(
        "Latency", ["percentile", "time"],
        [("p50", p50Us), ("p90", p90Us), ("p99", p99Us), ("p99.9", p999Us), ("p99.99", p9999Us), ("max", maxUs)]
          .map { [$0.0, $0.1.asTime] }),
      table(
        "Errors by status", ["status", "calls", "part"], statuses.map { [$0.key, $0.value.grouped, share($0.value)] }),
      table(
        "Targets", ["address", "connections", "sent", "errors"],
        targets.count < 2
          ? [] : targets.map { [$0.target, $0.connections.grouped, $0.sent.grouped, $0.errors.grouped] }),
      table(
        "Away", ["address", "from second", "seconds", "calls UNAVAILABLE"],
        targets.flatMap { target in
          (target.away ?? []).prefix(50).map {
            [target.target, $0.start.fixed(2), $0.seconds.fixed(2), $0.calls.grouped]
          }
        }),
      table(
        "Wrong answers", ["answer", "calls"],
        wrongByReason.sorted { $0.value > $1.value }.prefix(50).map { [$0.key, $0.value.grouped] }),
      table(
        "Flows", ["flow", "due", "errors", "p50", "p99"],
        flows.map { [$0.name, $0.due.grouped, $0.errors.grouped, $0.p50Us.asTime, $0.p99Us.asTime] }),
      table(
        "Objectives", ["objective", "measured", ""],
        objectives.map { [$0.objective, $0.readable, $0.isMet ? "met" : "missed"] }),
      table(
        "Stalls", ["from second", "seconds"], stalls.prefix(50).map { [$0.start.fixed(2), $0.seconds.fixed(2)] }),
      table(
        "Trials", ["rate", "p50", "p99", "errors", ""],
        search?.trials.map {
          ["\($0.rate.fixed(0))/s", $0.p50Us.asTime, $0.p99Us.asTime, $0.errors.grouped, $0.isMet ? "met" : "missed"]
        }
          ?? []),
      table(
        "Client", ["", ""],
        [
          ["CPU per call", "\(client.cpuUsPerCall.fixed(1)) µs"],
          ["of its cores", "\((client.cpuShare * 100).fixed(0)) %"],
          ["sent late, p99", client.sendLagP99Us.asTime], ["sent late, max", client.sendLagMaxUs.asTime],
          ["warm-up", "\(warmupDue.grouped) calls, \(warmupErrors.grouped) errors"],
        ]),
    ].filter { !$0.isEmpty }
  }

  private func table(_ caption: String, _ header: [String], _ rows: [[String]]) -> String {
    guard !rows.isEmpty else { return "" }
    let cells = { (row: [String], tag: String) in
      "<tr>" + row.map { "<\(tag)>\($0.escaped)</\(tag)>" }.joined() + "</tr>"
    }
    let head = header.allSatisfy(\.isEmpty) ? "" : "<thead>\(cells(header, "th"))</thead>"
    return "<table><caption>\(caption)</caption>\(head)<tbody>\(rows.map { cells($0, "td") }.joined())</tbody></table>"
  }

  private static func date(_ secondsSince1970: Double) -> String {
    var seconds = time_t(secondsSince1970)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func digits(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return "\(parts.tm_year + 1900)-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday)) "
      + "\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec)) UTC"
  }

  private static let style = """
    :root{--ink:#1c2430;--soft:#5b6675;--paper:#fff;--card:#f5f7fa;--line:#dde3ea;--c1:#1668c7;--c2:#a36a00;--c3:#c62f3d;\
    --c4:#7a8594;--good:#17743a;color-scheme:light dark}
    @media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--paper:#12161c;--card:#1b212a;--line:#313a46;\
    --c1:#6cb1ff;--c2:#e8b04a;--c3:#ff7b85;--c4:#8b97a6;--good:#63cf8a}}
    @media print{:root{--ink:#000;--soft:#444;--paper:#fff;--card:#fff;--line:#bbb;--c1:#1668c7;--c2:#a36a00;--c3:#c62f3d;\
    --c4:#7a8594;--good:#17743a;color-scheme:light}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
    *{box-sizing:border-box}
    body{margin:0 auto;max-width:1080px;padding:16px;background:var(--paper);color:var(--ink);\
    font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums}
    h1{font-size:1.35rem;margin:0 0 .2rem;overflow-wrap:anywhere}
    header p{margin:.2rem 0;color:var(--soft);overflow-wrap:anywhere}
    header .verdict{color:var(--c3);font-weight:600}
    header .verdict.valid{color:var(--good)}
    header .verdict.client_limited{color:var(--c2)}
    .tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(100px,1fr));gap:8px;margin:16px 0}
    .tiles div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 10px}
    .tiles dt{color:var(--soft);font-size:.8rem}
    .tiles dd{margin:0;font-size:1.05rem;font-weight:600;white-space:nowrap}
    .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:12px}
    .tables{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:12px;align-items:start;\
    margin-top:12px}
    figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px;break-inside:avoid}
    figcaption,caption{font-weight:600;text-align:left;padding-bottom:4px}
    svg{display:block;width:100%;height:auto}
    svg text{fill:var(--soft);font-size:11.5px}
    svg .end{text-anchor:end}
    svg .middle{text-anchor:middle}
    .grid{stroke:var(--line)}
    rect.stall{fill:var(--c3);opacity:.18}
    polyline{fill:none;stroke-width:1.6;stroke-linejoin:round}
    polyline.c1{stroke:var(--c1)}polyline.c2{stroke:var(--c2)}polyline.c3{stroke:var(--c3)}
    polyline.c4{stroke:var(--c4);stroke-dasharray:5 3}
    polygon{stroke:none;opacity:.55}
    polygon.a1{fill:var(--c1)}polygon.a2{fill:var(--c2)}
    .legend{margin:4px 0 0;color:var(--soft);font-size:.82rem;display:flex;flex-wrap:wrap;gap:2px 14px}
    .key::before{content:"";display:inline-block;width:14px;height:3px;margin-right:5px;vertical-align:middle}
    .key.c1::before,.key.a1::before{background:var(--c1)}.key.c2::before,.key.a2::before{background:var(--c2)}
    .key.c3::before{background:var(--c3)}.key.stall::before{background:var(--c3);opacity:.35;height:10px}.key.c4::before{background:var(--c4)}
    table{width:100%;border-collapse:collapse;break-inside:avoid}
    th{color:var(--soft);font-weight:500;font-size:.82rem}
    th,td{text-align:right;padding:3px 4px;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
    th:first-child,td:first-child{text-align:left}
    footer{margin-top:16px;color:var(--soft);font-size:.85rem}
    """
}

extension String {
  fileprivate var escaped: String {
    reduce(into: "") { text, character in
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      default: text.append(character)
      }
    }
  }
}
