// The registry as a backend of swift-metrics.

package import CoreMetrics

extension MetricRegistry: MetricsFactory {
  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    counter(label, dimensions, isConfined: false)
  }

  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    gauge(label, dimensions) ?? NOOPMetricsHandler.instance
  }

  package func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    recorder(label, dimensions, aggregate: aggregate, isConfined: false)
  }

  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(label, dimensions, isConfined: false) ?? NOOPMetricsHandler.instance
  }

  // A series stays until the process ends, as Prometheus expects.
  package func destroyCounter(_ handler: any CounterHandler) {}
  package func destroyMeter(_ handler: any MeterHandler) {}
  package func destroyRecorder(_ handler: any RecorderHandler) {}
  package func destroyTimer(_ handler: any TimerHandler) {}
}

/// The same registry, for one thread at a time.
struct ConfinedMetrics: MetricsFactory {
  let registry: MetricRegistry

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    registry.counter(label, dimensions, isConfined: true)
  }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    registry.makeMeter(label: label, dimensions: dimensions)
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    registry.recorder(label, dimensions, aggregate: aggregate, isConfined: true)
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    registry.histogram(label, dimensions, isConfined: true) ?? NOOPMetricsHandler.instance
  }

  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyMeter(_ handler: any MeterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}

extension MetricRegistry {
  fileprivate func counter(
    _ name: String, _ dimensions: [(String, String)], isConfined: Bool
  ) -> any CounterHandler {
    guard case .counter(let cell)? = series(of: name, dimensions, isConfined: isConfined, is: { $0 == .counter })
    else { return NOOPMetricsHandler.instance }
    return cell
  }

  fileprivate func gauge(_ name: String, _ dimensions: [(String, String)]) -> GaugeCell? {
    guard case .gauge(let cell)? = series(of: name, dimensions, isConfined: false, is: { $0 == .gauge }) else {
      return nil
    }
    return cell
  }

  fileprivate func histogram(
    _ name: String, _ dimensions: [(String, String)], isConfined: Bool
  ) -> HistogramCell? {
    guard case .histogram(let cell)? = series(of: name, dimensions, isConfined: isConfined, is: \.isHistogram) else {
      return nil
    }
    return cell
  }

  fileprivate func recorder(
    _ name: String, _ dimensions: [(String, String)], aggregate: Bool, isConfined: Bool
  ) -> any RecorderHandler {
    if aggregate { return histogram(name, dimensions, isConfined: isConfined) ?? NOOPMetricsHandler.instance }
    return gauge(name, dimensions) ?? NOOPMetricsHandler.instance
  }
}

extension MetricFamily.Kind {
  fileprivate var isHistogram: Bool {
    if case .histogram = self { true } else { false }
  }
}

// MARK: - Making metrics of a family

extension MetricsFactory {
  /// - Parameter values: the values of the family's labels, in their order.
  package func counter(_ family: MetricFamily, _ values: String...) -> Counter {
    Counter(label: family.name, dimensions: family.dimensions(values), factory: self)
  }

  package func gauge(_ family: MetricFamily, _ values: String...) -> Gauge {
    Gauge(label: family.name, dimensions: family.dimensions(values), factory: self)
  }

  /// A histogram of durations.
  package func timer(_ family: MetricFamily, _ values: String...) -> CoreMetrics.Timer {
    CoreMetrics.Timer(label: family.name, dimensions: family.dimensions(values), factory: self)
  }

  /// A histogram of sizes or counts.
  package func recorder(_ family: MetricFamily, _ values: String...) -> Recorder {
    Recorder(label: family.name, dimensions: family.dimensions(values), aggregate: true, factory: self)
  }

  /// The same for the way of each call: `Recorder` takes all kinds of numbers, and takes 200 instructions for that.
  package func sizes(_ family: MetricFamily, _ values: String...) -> any RecorderHandler {
    makeRecorder(label: family.name, dimensions: family.dimensions(values), aggregate: true)
  }
}

extension MetricFamily {
  fileprivate func dimensions(_ values: [String]) -> [(String, String)] {
    Array(zip(labels, values))
  }
}
