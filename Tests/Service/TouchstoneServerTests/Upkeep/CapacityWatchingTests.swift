// How much room data and archive take and have: files and disks are real ones, the database's answers are not.

import DispatchRPC
import Glibc
import Synchronization
import TestSupport
import Testing
import TouchstoneMetrics
import TouchstoneStore

@testable import TouchstoneServer

@Suite("Capacity")
struct CapacityWatchingTests {
  /// Its first reading is over.
  private static func watching(
    data: String? = nil, archive: String? = nil, backups: String? = nil,
    database: Result<UInt64, StoreError> = .failure(StoreError(code: .unavailable, message: "it is down")),
    clock: @escaping @Sendable () -> MonotonicTime = { .now() }
  ) async -> CapacityWatching {
    let readings = Box<Void>()
    let watching = CapacityWatching(
      data: data, archive: archive, backups: backups,
      databaseSize: { completion in
        completion(database)
        readings.put(())
      }, clock: clock)
    await readings.next()
    return watching
  }

  @Test("A directory's size is that of its own files")
  func sizes() async throws {
    let (data, archive) = (TemporaryDirectory(), TemporaryDirectory())
    defer { withExtendedLifetime((data, archive)) {} }
    _ = data.write([UInt8](repeating: 1, count: 700), to: "touchstone.db")
    _ = data.write([UInt8](repeating: 1, count: 50), to: "touchstone.db-wal")
    try #require(mkdir(data.path("keys"), 0o700) == 0)
    _ = data.write([1, 2, 3], to: "keys/1")
    _ = archive.write([UInt8](repeating: 1, count: 9_000), to: "events-1-9.jsonl")
    // Its file counts where it is.
    try #require(symlink(data.path("touchstone.db"), archive.path("link")) == 0)
    let watching = await Self.watching(data: data.path, archive: archive.path)
    defer { watching.cancel() }
    #expect(watching.samples(of: .storeSize) == [MetricSample(750)])
    #expect(watching.samples(of: .archiveSize) == [MetricSample(9_000)])
  }

  @Test("Each directory has the room of its disk, and one that is both counts once")
  func room() async {
    let (data, archive) = (TemporaryDirectory(), TemporaryDirectory())
    defer { withExtendedLifetime((data, archive)) {} }
    for (data, archive, backups, directories) in [
      (data.path, archive.path, nil, [data.path, archive.path]), (data.path, data.path, data.path, [data.path]),
      (data.path, nil, archive.path, [data.path, archive.path]), (nil, archive.path, nil, [archive.path]),
      (nil, nil, nil, []),
    ] as [(String?, String?, String?, [String])] {
      let watching = await Self.watching(data: data, archive: archive, backups: backups)
      let (available, size) = (
        watching.samples(of: .filesystemAvailable), watching.samples(of: .filesystemSize)
      )
      #expect(available.map(\.values) == directories.map { [$0] } && size.map(\.values) == directories.map { [$0] })
      for (available, size) in zip(available, size) { #expect(0 < available.number && available.number < size.number) }
      watching.cancel()
    }
  }

  @Test("A database on a server tells its size; one that is down, and a directory that is gone, have none")
  func unknown() async {
    let gone = "/nowhere/archive"
    let watching = await Self.watching(archive: gone, database: .success(8_000_000))
    #expect(watching.samples(of: .storeSize) == [MetricSample(8_000_000)])
    for family in [MetricFamily.archiveSize, .filesystemAvailable, .filesystemSize] {
      #expect(watching.samples(of: family).isEmpty)
    }
    watching.cancel()
    let down = await Self.watching(archive: gone)
    #expect(down.samples(of: .storeSize).isEmpty)
    down.cancel()
  }

  @Test("A reading that was not renewed for five minutes is not shown: its disk hangs, or its database is down")
  func staleness() async {
    let data = TemporaryDirectory()
    defer { withExtendedLifetime(data) {} }
    let now = Mutex(MonotonicTime(nanoseconds: 0))
    let watching = await Self.watching(data: data.path) { now.withLock { $0 } }
    watching.cancel()
    now.withLock { $0 = $0 + CapacityWatching.validity }
    #expect(watching.samples(of: .storeSize) == [MetricSample(0)])
    #expect(watching.samples(of: .filesystemSize).count == 1)
    now.withLock { $0 = $0 + .seconds(1) }
    #expect(watching.samples(of: .storeSize).isEmpty)
    #expect(watching.samples(of: .filesystemSize).isEmpty)
  }
}
