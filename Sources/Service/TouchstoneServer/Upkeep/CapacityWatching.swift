// Measures regularly how much room the records and the archive take, and how much their disks have left.

internal import DispatchRPC
internal import Synchronization
internal import TouchstoneMetrics
internal import TouchstoneStore

/// Reads on a queue of its own, because a file system on a network may take long to answer. A scrape shows the latest
/// reading.
final class CapacityWatching: Sendable {
  typealias DatabaseSize = @Sendable (@escaping @Sendable (Result<UInt64, StoreError>) -> Void) -> Void

  private static let interval = Duration.seconds(60)
  /// An older reading is not shown: a disk or a database that no longer answers has no known size.
  static let validity = Duration.seconds(5 * 60)

  private struct Series: Hashable {
    var family: String
    /// The family's label, if it has one.
    var directory: String?
  }
  private struct Reading {
    var bytes: UInt64
    var time: MonotonicTime
  }

  private let places: CapacityPlaces
  private let databaseSize: DatabaseSize?
  private let clock: @Sendable () -> MonotonicTime
  private let readings = Mutex<[Series: Reading]>([:])
  private let repeating = Repeating(every: interval, label: "capacity-watcher")

  /// - Parameter databaseSize: the size of a database on a server.
  init(
    _ places: CapacityPlaces, databaseSize: DatabaseSize? = nil,
    clock: @escaping @Sendable () -> MonotonicTime = { .now() }
  ) {
    (self.places, self.databaseSize, self.clock) = (places, databaseSize, clock)
    repeating.begin(atOnce: true) { [weak self] in self?.measure() }
  }

  func cancel() {
    repeating.cancel()
  }

  func samples(of family: MetricFamily) -> [MetricSample] {
    let readings = readings.withLock { $0 }
    let now = clock()
    return places.labels.compactMap { directory in
      guard let reading = readings[Series(family: family.name, directory: directory)],
        now - reading.time <= Self.validity
      else { return nil }
      return directory.map { MetricSample(Double(reading.bytes), $0) } ?? MetricSample(Double(reading.bytes))
    }
  }

  private func measure() {
    for directory in places.directories {
      let space = FileSystemReading.space(at: directory)
      note(space?.available, .filesystemAvailable, directory)
      note(space?.size, .filesystemSize, directory)
    }
    if let archive = places.archive { note(FileSystemReading.bytes(in: archive), .archiveSize) }
    if let data = places.data { note(FileSystemReading.bytes(in: data), .storeSize) }
    databaseSize? { [weak self] result in
      if case .success(let bytes) = result { self?.note(bytes, .storeSize) }
    }
  }

  private func note(_ bytes: UInt64?, _ family: MetricFamily, _ directory: String? = nil) {
    guard let bytes else { return }
    let reading = Reading(bytes: bytes, time: clock())
    readings.withLock { $0[Series(family: family.name, directory: directory)] = reading }
  }
}

/// The directories that a service fills.
struct CapacityPlaces: Sendable {
  /// The data directory, if it has the records.
  var data: String?
  var archive: String?

  /// Each directory once.
  var directories: [String] { data == archive ? [data].compactMap(\.self) : [data, archive].compactMap(\.self) }
  /// The label of each series that a family may have: none, or a directory.
  fileprivate var labels: [String?] { [nil] + directories }
}

extension CapacityPlaces {
  init(_ configuration: ProcessConfiguration) {
    if case .sqlite(let directory) = configuration.storeLocation { data = directory }
    archive = configuration.retention?.archive
  }
}
