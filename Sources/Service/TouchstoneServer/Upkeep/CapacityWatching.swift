// Measures regularly how much room the records and the archive take, and how much their disks have left.

internal import DispatchRPC
internal import Glibc
internal import Synchronization
internal import TouchstoneMetrics
internal import TouchstoneStore
internal import TouchstoneStorePostgres

/// Reads on a queue of its own, because a file system on a network may take long to answer. A scrape shows the latest
/// reading.
final class CapacityWatching: Sendable {
  typealias DatabaseSize = @Sendable (@escaping @Sendable (Result<UInt64, StoreError>) -> Void) -> Void

  private static let interval = Duration.seconds(60)
  /// An older reading is not shown: a disk or a database that no longer answers has no known size.
  static let validity = Duration.seconds(5 * 60)

  private struct Reading {
    var samples: [MetricFamily: [MetricSample]] = [:]
    var time = MonotonicTime(nanoseconds: 0)
  }

  private let data: String?
  private let archive: String?
  /// Each once.
  private let directories: [String]
  private let databaseSize: DatabaseSize?
  private let clock: @Sendable () -> MonotonicTime
  private let files = Mutex(Reading())
  private let database = Mutex(Reading())
  private let repeating = Repeating(every: interval, label: "capacity-watcher")

  /// - Parameters:
  ///   - data: the data directory, if it has the records.
  ///   - databaseSize: the size of a database on a server.
  init(
    data: String?, archive: String?, backups: String? = nil, databaseSize: DatabaseSize?,
    clock: @escaping @Sendable () -> MonotonicTime = { .now() }
  ) {
    (self.data, self.archive, self.databaseSize, self.clock) = (data, archive, databaseSize, clock)
    directories = [data, archive, backups].compactMap(\.self).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    repeating.begin(atOnce: true) { [weak self] in self?.measure() }
  }

  func cancel() {
    repeating.cancel()
  }

  func samples(of family: MetricFamily) -> [MetricSample] {
    let now = clock()
    let readings = [files.withLock { $0 }, database.withLock { $0 }]
    return readings.filter { now - $0.time <= Self.validity }.flatMap { $0.samples[family] ?? [] }
  }

  private func measure() {
    var samples: [MetricFamily: [MetricSample]] = [:]
    for directory in directories {
      guard let space = FileSystemReading.space(at: directory) else { continue }
      samples[.filesystemAvailable, default: []].append(MetricSample(Double(space.available), directory))
      samples[.filesystemSize, default: []].append(MetricSample(Double(space.size), directory))
    }
    samples[.storeSize] = data.flatMap(FileSystemReading.size(of:))
    samples[.archiveSize] = archive.flatMap(FileSystemReading.size(of:))
    files.withLock { $0 = Reading(samples: samples, time: clock()) }
    databaseSize? { [weak self] result in
      guard let self, case .success(let bytes) = result else { return }
      database.withLock { $0 = Reading(samples: [.storeSize: [MetricSample(Double(bytes))]], time: clock()) }
    }
  }
}

/// The kernel's figures of files and disks. Each call may wait for the disk. `nil`: the disk does not tell.
private enum FileSystemReading {
  /// The bytes that this user may still write to a directory's file system, and those that it has in all.
  static func space(at directory: String) -> (available: UInt64, size: UInt64)? {
    var space = statvfs()
    guard statvfs(directory, &space) == 0 else { return nil }
    let block = UInt64(space.f_frsize)
    return (UInt64(space.f_bavail) * block, UInt64(space.f_blocks) * block)
  }

  /// The bytes of a directory's regular files, without those of directories in it.
  static func size(of directory: String) -> [MetricSample]? {
    guard let stream = opendir(directory) else { return nil }
    defer { closedir(stream) }
    var sum: UInt64 = 0
    while let entry = readdir(stream) {
      // Not through the field's tuple, because an entry is only as long as its name.
      let name = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \.d_name)!)
      var status = stat()
      // A file that was removed meanwhile has no size.
      guard fstatat(dirfd(stream), name.assumingMemoryBound(to: CChar.self), &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT == S_IFREG
      else { continue }
      sum += UInt64(status.st_size)
    }
    return [MetricSample(Double(sum))]
  }
}

extension CapacityWatching {
  convenience init(_ configuration: ProcessConfiguration, on store: any Store) {
    var (data, databaseSize): (String?, DatabaseSize?) = (nil, nil)
    if case .sqlite(let directory) = configuration.storeLocation { data = directory }
    if let store = store as? PostgresStore { databaseSize = { store.databaseSize(completion: $0) } }
    self.init(
      data: data, archive: configuration.retention?.archive, backups: configuration.backup?.directory,
      databaseSize: databaseSize)
  }
}
