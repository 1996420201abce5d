// Keeps every series of this process, and hands out what counts them.

internal import Synchronization

/// The counters, gauges and histograms of known families, which it shows as text.
///
/// Counters are made once and kept by their owners: making one takes a lock, counting takes none. A registry belongs to
/// one service, so that several services in one process (tests) count apart.
package final class MetricRegistry: Sendable {
  /// Every label has few values, so that only a mistake reaches this. The methods times the statuses of gRPC are some
  /// 500. 256 policies, as many as there may be, have at most 64 series each in a family: eight outcomes of six
  /// factors, of none and of others.
  package static let maximumSeries = 16_384

  typealias Reading = @Sendable () -> [MetricSample]

  /// One family's.
  struct Entries: Sendable {
    /// In the order in which they were made.
    var series: [MetricSeries] = []
    var places: [[String]: Int] = [:]
    var readings: [Reading] = []
  }

  private let families: [MetricFamily]
  private let places: [String: Int]
  private let entries: Mutex<[Entries]>
  private let refused = Atomic<Int>(0)
  private let firstRefused: @Sendable (String) -> Void

  /// - Parameters:
  ///   - families: in the order of the text.
  ///   - firstRefused: runs once, when the first series is refused, with its family's name.
  package init(
    _ families: [MetricFamily] = MetricFamilies.all, firstRefused: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.families = families
    self.firstRefused = firstRefused
    places = Dictionary(uniqueKeysWithValues: families.enumerated().map { ($1.name, $0) })
    entries = Mutex(families.map { _ in Entries() })
    guard families.contains(.seriesRefused) else { return }
    observe(.seriesRefused) { [weak self] in [MetricSample(Double(self?.refusedSeries ?? 0))] }
  }

  /// The series that were not made, because their family has the maximum, is unknown or has other labels.
  package var refusedSeries: Int { refused.load(ordering: .relaxed) }

  /// Adds a reading to a family that is not counted but read: `read` runs for each text, on its thread, and must not
  /// block.
  package func observe(_ family: MetricFamily, _ read: @escaping @Sendable () -> [MetricSample]) {
    guard let place = places[family.name] else { return noteRefusal(family.name) }
    entries.withLock { $0[place].readings.append(read) }
  }

  /// Forgets all readings: what they read is about to end.
  package func dropReadings() {
    entries.withLock { entries in
      for place in entries.indices { entries[place].readings = [] }
    }
  }

  /// The text exposition, version 0.0.4. Counting goes on meanwhile.
  package func text() -> String {
    let entries = entries.withLock { $0 }
    var writer = ExpositionWriter()
    for (family, entries) in zip(families, entries) {
      let samples = entries.readings.flatMap { $0() }.filter { $0.values.count == family.labels.count }
      writer.write(family, entries.series, samples.prefix(Self.maximumSeries))
    }
    return writer.text
  }

  /// The present number of a gauge; `nil`: it was never set.
  package func number(of family: MetricFamily, _ values: String...) -> Double? {
    guard let place = places[family.name] else { return nil }
    let cells = entries.withLock { entries in
      entries[place].places[values].map { entries[place].series[$0].cells } ?? []
    }
    guard case .gauge(let cell)? = cells.first else { return nil }
    return cell.number
  }

  // MARK: Making series

  /// - Parameters:
  ///   - values: the values of the family's labels, in their order. A refused series counts where no text shows it.
  ///   - isConfined: only one thread at a time raises it, such as an event loop: that needs no locked instruction, and
  ///     no other core writes it.
  package func counter(_ family: MetricFamily, _ values: String..., isConfined: Bool = false) -> MetricCounter {
    guard case .counter(let counter)? = series(of: family, values, isConfined: isConfined) else {
      return MetricCounter(isConfined: false)
    }
    return counter
  }

  package func gauge(_ family: MetricFamily, _ values: String...) -> MetricGauge {
    guard case .gauge(let gauge)? = series(of: family, values, isConfined: false) else { return MetricGauge() }
    return gauge
  }

  package func histogram(_ family: MetricFamily, _ values: String..., isConfined: Bool = false) -> MetricHistogram {
    guard case .histogram(let histogram)? = series(of: family, values, isConfined: isConfined) else {
      return MetricHistogram(.counts([]), isConfined: false)
    }
    return histogram
  }

  private func series(of family: MetricFamily, _ values: [String], isConfined: Bool) -> MetricSeries.Cell? {
    guard let place = places[family.name], families[place] == family, values.count == family.labels.count,
      let cell = entries.withLock({ $0[place].cell(of: values, family.kind, isConfined: isConfined) })
    else {
      noteRefusal(family.name)
      return nil
    }
    return cell
  }

  private func noteRefusal(_ name: String) {
    if refused.add(1, ordering: .relaxed).oldValue == 0 { firstRefused(name) }
  }
}

extension MetricRegistry.Entries {
  fileprivate mutating func cell(
    of values: [String], _ kind: MetricFamily.Kind, isConfined: Bool
  ) -> MetricSeries.Cell? {
    if let place = places[values] { return series[place].cell(kind, isConfined: isConfined) }
    guard series.count < MetricRegistry.maximumSeries else { return nil }
    places[values] = series.count
    var new = MetricSeries(values: values)
    defer { series.append(new) }
    return new.cell(kind, isConfined: isConfined)
  }
}

/// A number that was read, with the labels' values in the family's order.
package struct MetricSample: Sendable, Hashable {
  package var values: [String]
  package var number: Double

  package init(_ number: Double, _ values: String...) {
    (self.number, self.values) = (number, values)
  }
}
