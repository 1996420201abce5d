/// A chart of lines over a horizontal axis, as inline SVG in a coordinate system that stays readable on a telephone.
struct Chart {
  struct Line {
    var name: String
    /// A class of the page's style sheet.
    var style: String
    var points: [(x: Double, y: Double)]
    var isArea = false
  }

  struct Tick {
    var position: Double
    var label: String
  }

  var title: String
  var lines: [Line]
  var xTicks: [Tick]
  var xRange: ClosedRange<Double>
  var yLabel: (Double) -> String
  /// The vertical axis reaches at least up to here.
  var leastHeight = 0.0
  /// Parts of the horizontal axis to mark.
  var marks: [ClosedRange<Double>] = []

  private static let (width, height) = (400.0, 230.0)
  private static let (left, right, top, bottom) = (54.0, 8.0, 10.0, 22.0)

  var svg: String {
    let highest = Self.roundNumber(atLeast: max(leastHeight, lines.flatMap(\.points).map(\.y).max() ?? 0))
    func x(_ value: Double) -> String {
      let part = (value - xRange.lowerBound) / max(xRange.upperBound - xRange.lowerBound, .leastNormalMagnitude)
      return (Self.left + min(max(part, 0), 1) * (Self.width - Self.left - Self.right)).fixed(1)
    }
    func y(_ value: Double) -> String {
      (Self.height - Self.bottom - value / highest * (Self.height - Self.top - Self.bottom)).fixed(1)
    }
    let marks = self.marks.map { mark in
      let start = x(mark.lowerBound)
      let width = max(2, (Double(x(mark.upperBound)) ?? 0) - (Double(start) ?? 0))
      return "<rect class=\"stall\" x=\"\(start)\" y=\"\(Self.top.fixed(0))\" width=\"\(width.fixed(1))\" "
        + "height=\"\((Self.height - Self.top - Self.bottom).fixed(0))\"><title>no answer</title></rect>"
    }
    let grid = (0...4).map { step in
      let value = highest * Double(step) / 4
      return "<line class=\"grid\" x1=\"\(Self.left.fixed(0))\" x2=\"\((Self.width - Self.right).fixed(0))\" "
        + "y1=\"\(y(value))\" y2=\"\(y(value))\"/><text class=\"end\" x=\"\((Self.left - 4).fixed(0))\" y=\"\(y(value))\" "
        + "dy=\"4\">\(yLabel(value))</text>"
    }
    let axis = xTicks.map { tick in
      // The last label would not fit in the middle.
      "<text class=\"\(tick.position < xRange.upperBound ? "middle" : "end")\" x=\"\(x(tick.position))\" y=\"\((Self.height - 6).fixed(0))\">\(tick.label)</text>"
    }
    let paths = lines.filter { !$0.points.isEmpty }.map { line in
      let points = line.points.map { "\(x($0.x)),\(y($0.y))" }.joined(separator: " ")
      guard line.isArea, let first = line.points.first, let last = line.points.last else {
        return "<polyline class=\"\(line.style)\" points=\"\(points)\"/>"
      }
      return "<polygon class=\"\(line.style)\" points=\"\(x(first.x)),\(y(0)) \(points) \(x(last.x)),\(y(0))\"/>"
    }
    let keys = lines.map { ($0.style, $0.name) } + (self.marks.isEmpty ? [] : [("stall", "no answer")])
    let legend = keys.map { "<span class=\"key \($0.0)\">\($0.1)</span>" }
    let size = "\(Self.width.fixed(0)) \(Self.height.fixed(0))"
    return """
      <figure><figcaption>\(title)</figcaption>
      <svg viewBox="0 0 \(size)" role="img" aria-label="\(title)">
      \((marks + grid + axis + paths).joined(separator: "\n"))
      </svg>
      <p class="legend">\(legend.joined(separator: " "))</p></figure>
      """
  }

  /// Such that the four grid lines are round as well.
  private static func roundNumber(atLeast value: Double) -> Double {
    var number = 1.0
    guard value > 0 else { return number }
    while number < value { number *= 10 }
    while number / 10 >= value { number /= 10 }
    for part in [0.12, 0.16, 0.2, 0.28, 0.4, 0.6, 0.8] where number * part >= value { return number * part }
    return number
  }

  /// Seconds, about six of them.
  static func timeTicks(_ seconds: Double) -> [Tick] {
    let units: [(Double, Double, String)] = [(1, 1, "s"), (60, 60, "min"), (3_600, 3_600, "h")]
    let steps: [Double] = [
      0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 21_600, 86_400,
    ]
    let step = steps.first { seconds / $0 <= 6 } ?? seconds
    let (_, scale, unit) = units.last { step >= $0.0 } ?? units[0]
    return stride(from: 0, through: seconds, by: step).map {
      Tick(position: $0, label: ($0 / scale).brief + ($0 == 0 ? "" : " " + unit))
    }
  }
}
