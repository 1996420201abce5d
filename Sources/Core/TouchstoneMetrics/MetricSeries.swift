// One series: the same labels, counted in one cell or in one for each thread.

struct MetricSeries: Sendable {
  enum Cell: Sendable {
    case counter(MetricCounter)
    case gauge(MetricGauge)
    case histogram(MetricHistogram)

    fileprivate init(_ kind: MetricFamily.Kind, isConfined: Bool) {
      switch kind {
      case .counter: self = .counter(MetricCounter(isConfined: isConfined))
      case .gauge: self = .gauge(MetricGauge())
      case .histogram(let buckets): self = .histogram(MetricHistogram(buckets, isConfined: isConfined))
      }
    }
  }

  let values: [String]
  /// All that have no cell of their own count in this one.
  private var shared: Cell?
  private var confined: [Cell] = []

  init(values: [String]) {
    self.values = values
  }

  var cells: [Cell] { (shared.map { [$0] } ?? []) + confined }

  mutating func cell(_ kind: MetricFamily.Kind, isConfined: Bool) -> Cell {
    if isConfined, kind != .gauge {
      let cell = Cell(kind, isConfined: true)
      confined.append(cell)
      return cell
    }
    if let shared { return shared }
    let cell = Cell(kind, isConfined: false)
    shared = cell
    return cell
  }
}
