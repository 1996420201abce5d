import LoadModel
import TestSupport
import Testing

@Suite("Reports")
struct ReportTests {
  private static func ledger() -> CallLedger {
    var generator = SeededGenerator(seed: 21)
    var run = SimulatedRun(
      callers: 50, stalls: [.seconds(1)...(.milliseconds(1_400)), .milliseconds(5_500)...(.seconds(60))])
    run.grace = .milliseconds(400)
    return run.books(using: &generator)
  }

  @Test("JSON is one line, and is read back as the same report")
  func json() throws {
    let report = LoadReport(Self.ledger())
    #expect(!report.json.contains("\n"))
    for key in [
      "due", "succeeded", "wrong", "failed", "timed_out", "unfinished", "unsent", "p50_us", "p999_us", "max_us",
    ] {
      #expect(report.json.contains("\"\(key)\":"))
    }
    let read = try LoadReport.reports(fromJSON: report.json + "\n" + report.json + "\n")
    #expect(read.count == 2 && read.allSatisfy { $0.json == report.json })
    let spread = report.json.replacing(",\"due\"", with: ",\n\"due\"")
    #expect(spread.contains("\n"))
    #expect(try LoadReport.reports(fromJSON: spread).map(\.json) == [report.json])
  }

  @Test("The table and the page have the classes, which add up")
  func classes() throws {
    let ledger = Self.ledger()
    let report = LoadReport(ledger)
    #expect(report.unfinished > 0 && report.unsent > 0)
    let page = report.html
    let classes = [
      ("succeeded", report.succeeded), ("wrong", report.wrong), ("failed", report.failed),
      ("timed out", report.timedOut), ("unfinished", report.unfinished), ("unsent", report.unsent),
    ]
    #expect(classes.reduce(0) { $0 + $1.1 } == report.due)
    for (name, count) in classes + [("due", report.due)] {
      #expect(report.text.contains(try Regex("(?m)^\(name) +\(count.grouped) ")))
      #expect(page.contains("<td>\(name)</td><td>\(count.grouped)</td>"))
    }
    #expect(report.windows.reduce(0) { $0 + $1.due } == report.due)
  }

  @Test("The page marks stalls, names statuses and objectives, and takes no text for markup")
  func page() throws {
    let ledger = Self.ledger()
    var report = LoadReport(ledger)
    report.target = "<script>&\"host\""
    report.judge(by: try Objective.list("p99<20ms"), allowsErrors: true)
    let page = report.html
    #expect(page.contains("&lt;script&gt;&amp;&quot;host&quot;") && !page.contains("<script"))
    #expect(page.contains("<td>p99&lt;20ms</td>") && page.contains("<td>UNAVAILABLE</td>"))
    #expect(page.split(separator: "class=\"stall\"").count - 1 == 2 * report.stalls.count)
    #expect(!page.contains("nan") && !page.contains("inf,"))
  }

  @Test("Numbers are written as people read them")
  func numbers() {
    #expect(1_234_567.grouped == "1,234,567" && 999.grouped == "999" && (-1_000).grouped == "-1,000")
    #expect(
      999.asTime == "999 µs" && 1_500.asTime == "1.50 ms" && 15_000.asTime == "15.0 ms" && 1_500_000.asTime == "1.50 s")
    #expect(1.005.fixed(1) == "1.0" && 0.96.fixed(1) == "1.0" && (-0.04).fixed(1) == "0.0" && (-1.25).fixed(0) == "-1")
    #expect(200.0.brief == "200" && 0.5.brief == "0.5")
  }

  @Test("A sparkline is as high as its highest rate")
  func sparkline() {
    let frame = LiveFrame(Self.ledger(), elapsed: .seconds(3))
    #expect(frame.sparkline.count == 30)
    #expect(frame.sparkline.contains("█") && frame.sparkline.contains("▁"))
    #expect(frame.lines.last?.hasSuffix("3 s left") == true)
  }
}
