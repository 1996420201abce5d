/// Counts latencies from a microsecond to an hour, with three significant digits, in HdrHistogram's buckets: 2,048 of a
/// microsecond, then 1,024 for each doubling, twice as wide as before.
///
/// It is our own because every call is recorded, and a report has some hundred: hdrhistogram-swift's generic code took
/// a tenth of a second for one report, and 4 % of the time of a call.
package struct LatencyHistogram: Sendable {
  /// One count for each bucket, up to the last one that is used and some more.
  private var counts: [UInt32] = []
  package private(set) var count = 0
  /// In microseconds, as the rest; 0 if there is none.
  package private(set) var maximum = 0
  private var sum = 0.0

  /// A longer latency counts as one hour.
  private static let maximumMicroseconds = 3_600_000_000
  /// Each covers one microsecond. This number gives three digits.
  private static let fineBucketCount = 2_048
  private static let doublingBucketCount = fineBucketCount / 2

  package init() {}

  package mutating func record(_ latency: Duration) {
    record(min(max(latency.inMicroseconds, 0), Self.maximumMicroseconds), count: 1)
  }

  private mutating func record(_ microseconds: Int, count number: UInt32) {
    guard number > 0 else { return }
    add(number, inBucket: Self.bucket(of: microseconds))
    count += Int(number)
    maximum = max(maximum, microseconds)
    sum += Double(microseconds) * Double(number)
  }

  package mutating func add(_ other: LatencyHistogram) {
    for (bucket, number) in other.counts.enumerated() where number > 0 { add(number, inBucket: bucket) }
    count += other.count
    maximum = max(maximum, other.maximum)
    sum += other.sum
  }

  package var mean: Double { count == 0 ? 0 : sum / Double(count) }

  /// The longest latency that the bucket of the call with this rank may hold.
  package func percentile(_ percentile: Double) -> Int {
    // One ulp less, so that rounding does not reach the next call.
    let rank = max(1, Int((percentile.nextDown * Double(count) / 100).rounded(.up)))
    var passed = 0
    for (bucket, number) in counts.enumerated() {
      passed += Int(number)
      if passed >= rank { return min(Self.longest(inBucket: bucket), maximum) }
    }
    return maximum
  }

  private mutating func add(_ number: UInt32, inBucket bucket: Int) {
    if bucket >= counts.count {
      let size = (bucket / Self.doublingBucketCount + 1) * Self.doublingBucketCount
      counts.append(contentsOf: repeatElement(0, count: size - counts.count))
    }
    let (new, isTooLarge) = counts[bucket].addingReportingOverflow(number)
    counts[bucket] = isTooLarge ? .max : new
  }

  // MARK: Buckets

  private static func bucket(of value: Int) -> Int {
    let doublings = max(0, Int.bitWidth - value.leadingZeroBitCount - fineBucketCount.trailingZeroBitCount)
    return doublings * doublingBucketCount + value >> doublings
  }

  private static func longest(inBucket bucket: Int) -> Int {
    let doublings = max(0, bucket / doublingBucketCount - 1)
    return (bucket - doublings * doublingBucketCount + 1) << doublings - 1
  }
}

// MARK: - Text

/// "812:3 1055:1": the longest latency of each used bucket, and its calls.
extension LatencyHistogram: Codable {
  package init(from decoder: any Decoder) throws {
    self.init()
    let container = try decoder.singleValueContainer()
    for entry in try container.decode(String.self).split(separator: " ") {
      let numbers = entry.split(separator: ":")
      guard numbers.count == 2, let latency = Int(numbers[0]), let count = UInt32(numbers[1]),
        (0...Self.maximumMicroseconds).contains(latency)
      else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(entry) is not LATENCY:CALLS") }
      record(latency, count: count)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    let entries = counts.enumerated().filter { $0.element > 0 }.map { bucket, count in
      "\(min(Self.longest(inBucket: bucket), Self.maximumMicroseconds)):\(count)"
    }
    var container = encoder.singleValueContainer()
    try container.encode(entries.joined(separator: " "))
  }
}
