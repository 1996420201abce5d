// Counting, and the text that it makes.

import Synchronization
import Testing

@testable import TouchstoneMetrics

@Suite("Registry")
struct RegistryTests {
  private static let counter = MetricFamily("things_total", .counter, labels: ["kind", "color"], help: "Things.")
  private static let gauge = MetricFamily("level", .gauge, help: "A level\nwith \\ and \"quotes\".")
  private static let bytes = MetricFamily("load_bytes", .histogram(.counts([10, 20])), .bytes, help: "Loads.")
  private static let times = MetricFamily(
    "time_seconds", .histogram(.seconds([0.00001, 0.5])), .seconds, help: "Times.")

  private let registry = MetricRegistry([counter, gauge, bytes, times])

  @Test("Counters show each series in the order of its making")
  func counters() {
    let first = registry.counter(Self.counter, "round", "red")
    let second = registry.counter(Self.counter, "flat", "blue")
    first.increment(by: 3)
    first.increment(by: -1)
    second.increment()
    registry.counter(Self.counter, "flat", "blue").increment()
    #expect(
      registry.text() == """
        # HELP things_total Things.
        # TYPE things_total counter
        things_total{kind="round",color="red"} 3
        things_total{kind="flat",color="blue"} 2

        """)
  }

  @Test("A gauge is set; help and labels are escaped")
  func escaping() {
    registry.gauge(Self.gauge).set(2.5)
    registry.gauge(Self.gauge).set(2)
    registry.counter(Self.counter, "a\\b\n\"c\"", "é").increment()
    #expect(registry.text().contains(#"# HELP level A level\nwith \\ and "quotes"."#))
    #expect(registry.text().contains("\nlevel 2\n"))
    #expect(registry.text().contains(#"things_total{kind="a\\b\n\"c\"",color="é"} 1"#))
  }

  @Test("A bound belongs to its bucket, buckets add up, and what is less than nothing counts as nothing")
  func histograms() {
    let recorder = registry.histogram(Self.bytes)
    for value in [-5, 0, 10, 11, 20, 21, 1_000] as [Int64] { recorder.record(value) }
    let timer = registry.histogram(Self.times)
    for nanoseconds in [10_000, 400_000_000, 2_000_000_000] as [Int64] { timer.record(nanoseconds) }
    #expect(
      registry.text() == """
        # HELP load_bytes Loads.
        # TYPE load_bytes histogram
        load_bytes_bucket{le="10"} 3
        load_bytes_bucket{le="20"} 5
        load_bytes_bucket{le="+Inf"} 7
        load_bytes_sum 1062
        load_bytes_count 7
        # HELP time_seconds Times.
        # TYPE time_seconds histogram
        time_seconds_bucket{le="1e-05"} 1
        time_seconds_bucket{le="0.5"} 2
        time_seconds_bucket{le="+Inf"} 3
        time_seconds_sum 2.40001
        time_seconds_count 3

        """)
  }

  @Test("Numbers as Prometheus reads them")
  func numbers() {
    let numbers: [(Double, String)] = [
      (0, "0"), (-3, "-3"), (1.5, "1.5"), (1_790_000_000.25, "1790000000.25"), (.infinity, "+Inf"),
      (-.infinity, "-Inf"), (.nan, "NaN"), (0.0001, "0.0001"), (1e300, "1e+300"),
    ]
    for (number, text) in numbers { #expect(ExpositionWriter.format(number) == text) }
  }

  @Test("A reading is made for each text, and forgotten when it is dropped")
  func readings() {
    registry.observe(Self.gauge) { [MetricSample(7)] }
    // As many labels as the family has.
    registry.observe(Self.counter) { [MetricSample(1, "one"), MetricSample(2, "one", "two")] }
    #expect(registry.text().contains("level 7\n"))
    #expect(registry.text().contains("things_total{kind=\"one\",color=\"two\"} 2\n"))
    #expect(!registry.text().contains("} 1\n"))
    registry.dropReadings()
    #expect(registry.text() == "")
  }

  @Test("Unknown families, other labels and other kinds get no series, and are counted")
  func refused() {
    let metrics = MetricRegistry([Self.counter, .seriesRefused])
    metrics.counter(MetricFamily("unknown_total", .counter, help: "")).increment()
    metrics.counter(Self.counter, "round").increment()
    metrics.counter(MetricFamily("things_total", .counter, labels: ["kind", "size"], help: ""), "round", "1")
      .increment()
    metrics.gauge(MetricFamily("things_total", .gauge, labels: ["kind", "color"], help: ""), "a", "b").set(1)
    #expect(metrics.refusedSeries == 4)
    #expect(metrics.text().contains("touchstone_metric_series_refused_total 4\n"))
    #expect(!metrics.text().contains("things_total{"))
  }

  @Test("The first refusal is told, and the others are only counted")
  func firstRefused() {
    let told = Mutex<[String]>([])
    let metrics = MetricRegistry([Self.counter]) { name in told.withLock { $0.append(name) } }
    for name in ["unknown_total", "other_total"] {
      metrics.counter(MetricFamily(name, .counter, help: "")).increment()
    }
    #expect(metrics.refusedSeries == 2)
    #expect(told.withLock { $0 } == ["unknown_total"])
  }

  @Test("A family has a bounded number of series, however many values a label gets")
  func bounded() {
    for index in 0..<MetricRegistry.maximumSeries + 10 {
      registry.counter(Self.counter, "kind", "\(index)").increment()
    }
    #expect(registry.refusedSeries == 10)
    #expect(registry.text().split(separator: "\n").count == MetricRegistry.maximumSeries + 2)
    // The known ones go on counting.
    registry.counter(Self.counter, "kind", "0").increment()
    #expect(registry.text().contains("color=\"0\"} 2\n"))
  }

  @Test("Threads lose no count, with shared counters and with confined ones, and the text stays consistent meanwhile")
  func concurrency() async throws {
    let (threads, rounds) = (8, 20_000)
    let shared = registry.counter(Self.counter, "shared", "")
    let histogram = registry.histogram(Self.bytes)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<threads {
        group.addTask { [registry] in
          let own = registry.counter(Self.counter, "confined", "", isConfined: true)
          let times = registry.histogram(Self.times, isConfined: true)
          for round in 0..<rounds {
            shared.increment()
            own.increment()
            histogram.record(Int64(round % 30))
            times.record(20_000)
          }
        }
      }
      group.addTask { [registry] in
        for _ in 0..<50 { try Self.requireConsistency(of: registry.text()) }
      }
      try await group.waitForAll()
    }
    let text = registry.text()
    try Self.requireConsistency(of: text)
    let all = threads * rounds
    #expect(text.contains("things_total{kind=\"shared\",color=\"\"} \(all)\n"))
    #expect(text.contains("things_total{kind=\"confined\",color=\"\"} \(all)\n"))
    #expect(text.contains("load_bytes_count \(all)\n"))
    #expect(text.contains("time_seconds_bucket{le=\"0.5\"} \(all)\n"))
  }

  /// Buckets ascend, and the last one is the count.
  private static func requireConsistency(of text: String) throws {
    var last = 0
    for line in text.split(separator: "\n") where line.hasPrefix("load_bytes") && !line.hasPrefix("load_bytes_sum") {
      let number = try #require(line.split(separator: " ").last.flatMap { Int($0) })
      try #require(number >= last)
      try #require(!line.hasPrefix("load_bytes_count") || number == last)
      last = number
    }
  }
}
