// Prometheus's text exposition, version 0.0.4. Pure.

/// Writes families one after the other. A family without a number is left out.
struct ExpositionWriter {
  private(set) var text = ""

  mutating func write(_ family: MetricFamily, _ series: [MetricSeries], _ samples: some Collection<MetricSample>) {
    guard !series.isEmpty || !samples.isEmpty else { return }
    text += "# HELP \(family.name) "
    text.append(escaping: family.help, quotes: false)
    text += "\n# TYPE \(family.name) \(family.typeName)\n"
    for series in series { write(series, of: family) }
    for sample in samples { line(family.name, family.labels, sample.values, Self.format(sample.number)) }
  }

  private mutating func write(_ series: MetricSeries, of family: MetricFamily) {
    var count: Int64 = 0
    var number: Double?
    var reading: MetricHistogram.Reading?
    for cell in series.cells {
      switch cell {
      case .counter(let cell): count &+= cell.count
      case .gauge(let cell): number = cell.number
      case .histogram(let cell): reading = reading.map { $0 + cell.reading } ?? cell.reading
      }
    }
    if case .histogram(let buckets) = family.kind, let reading {
      write(reading, buckets, family, series.values)
    } else {
      line(family.name, family.labels, series.values, number.map(Self.format) ?? String(count))
    }
  }

  /// The count is the buckets' sum, so that both agree while others count.
  private mutating func write(
    _ reading: MetricHistogram.Reading, _ buckets: Buckets, _ family: MetricFamily, _ values: [String]
  ) {
    var total: Int64 = 0
    let labels = family.labels + ["le"]
    for (index, count) in reading.counts.enumerated() {
      total &+= count
      let bound = index < buckets.bounds.count ? Self.format(Double(buckets.bounds[index]) / buckets.scale) : "+Inf"
      line("\(family.name)_bucket", labels, values + [bound], String(total))
    }
    line("\(family.name)_sum", family.labels, values, Self.format(Double(reading.sum) / buckets.scale))
    line("\(family.name)_count", family.labels, values, String(total))
  }

  private mutating func line(_ name: String, _ labels: [String], _ values: [String], _ number: String) {
    text += name
    var separator = "{"
    for (label, value) in zip(labels, values) {
      text += separator
      text += label
      text += "=\""
      text.append(escaping: value, quotes: true)
      text += "\""
      separator = ","
    }
    text += labels.isEmpty ? " " : "} "
    text += number
    text += "\n"
  }

  /// Beyond this a double has no fractions of one.
  private static let greatestWhole = 9_007_199_254_740_992.0

  static func format(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number > 0 ? "+Inf" : "-Inf" }
    guard number == number.rounded(), number.magnitude < greatestWhole else { return number.description }
    return String(Int64(number))
  }
}

extension MetricHistogram.Reading {
  fileprivate static func + (one: Self, other: Self) -> Self {
    Self(counts: zip(one.counts, other.counts).map { $0 &+ $1 }, sum: one.sum &+ other.sum)
  }
}

extension String {
  /// - Parameter quotes: the text stands in quotation marks.
  fileprivate mutating func append(escaping value: String, quotes: Bool) {
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": append("\\\\")
      case "\n": append("\\n")
      case "\"" where quotes: append("\\\"")
      default: unicodeScalars.append(scalar)
      }
    }
  }
}
