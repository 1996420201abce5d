// When files that changed are read again.

import Foundation
import TestSupport
import Testing

@testable import TouchstoneServer

@Suite("Watching files")
struct FileWatchTests {
  private static let start = ContinuousClock.now

  /// A file that does not exist has no identity, and the path alone tells two of them apart.
  private static func seen(_ name: String) -> FileSnapshot {
    var snapshot = FileSnapshot()
    snapshot.add("configuration", "/nowhere/\(name)")
    return snapshot
  }

  private static let (old, new, newer) = (seen("old"), seen("new"), seen("newer"))

  @Test("Files that are as they were wait for the next interval")
  func same() {
    var watch = FileWatch(considered: Self.old)
    #expect(watch.looked(Self.old, at: Self.start) == .wait)
    #expect(watch.delay(within: .seconds(10)) == .seconds(10))
  }

  @Test("A change is read when a second look, soon after, sees the same")
  func settled() {
    var watch = FileWatch(considered: Self.old)
    #expect(watch.looked(Self.new, at: Self.start) == .wait)
    #expect(watch.delay(within: .seconds(10)) == FileWatch.settlingTime)
    #expect(watch.delay(within: .milliseconds(1)) == .milliseconds(1))
    #expect(watch.looked(Self.new, at: Self.start + .seconds(1)) == .reload)
  }

  @Test("A change that is taken back is none")
  func back() {
    var watch = FileWatch(considered: Self.old)
    #expect(watch.looked(Self.new, at: Self.start) == .wait)
    #expect(watch.looked(Self.old, at: Self.start + .seconds(1)) == .wait)
    #expect(watch.delay(within: .seconds(10)) == .seconds(10))
    #expect(watch.looked(Self.new, at: Self.start + .seconds(100)) == .wait)
  }

  @Test("Files that never settle are read nevertheless")
  func restless() {
    var watch = FileWatch(considered: Self.old)
    var steps: [FileWatch.Step] = []
    for second in 0...10 {
      steps.append(watch.looked(second.isMultiple(of: 2) ? Self.new : Self.newer, at: Self.start + .seconds(second)))
    }
    #expect(steps.dropLast().allSatisfy { $0 == .wait } && steps.last == .reload)
  }

  @Test("The longest wait for a change is far below a minute by default")
  func promise() {
    #expect(WatchSetting.standard != .never)
    guard case .every(let interval) = WatchSetting.standard else { return }
    #expect(interval + FileWatch.settlingTime + FileWatch.patience < .seconds(30))
  }

  // MARK: Identities

  @Test("A file's content, mode and link, and a directory's files are seen")
  func identities() throws {
    let temporary = TemporaryDirectory()
    let directory = temporary.path
    let (file, link, keys) = ("\(directory)/a", "\(directory)/link", "\(directory)/keys")
    try File.write("one", to: file)
    try File.write("one", to: "\(directory)/b")
    let manager = FileManager.default
    try manager.createDirectory(atPath: "\(keys)/signing", withIntermediateDirectories: true)
    try manager.createSymbolicLink(atPath: link, withDestinationPath: "a")
    var snapshot = FileSnapshot()
    for (setting, path) in [("file", file), ("link", link), ("keys", keys), ("missing", "\(directory)/c")] {
      snapshot.add(setting, path)
    }
    #expect(snapshot.takenAgain == snapshot)

    func changed(_ change: () throws -> Void) throws -> [String] {
      let before = snapshot.takenAgain
      try change()
      return before.takenAgain.settings(changedSince: before)
    }
    #expect(try changed { try File.write("others", to: file) } == ["file", "link"])
    #expect(
      try changed { try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file) } == ["file", "link"])
    let relinked = try changed {
      try manager.removeItem(atPath: link)
      try manager.createSymbolicLink(atPath: link, withDestinationPath: "b")
    }
    #expect(relinked == ["link"])
    #expect(try changed { try File.write("key", to: "\(keys)/signing/1.pem") } == ["keys"])
    #expect(try changed { try File.write("newer", to: "\(keys)/signing/1.pem") } == ["keys"])
    #expect(try changed { try File.write("new", to: "\(directory)/c") } == ["missing"])
    #expect(try changed { try manager.removeItem(atPath: "\(directory)/c") } == ["missing"])
  }
}
