// Sessions end by themselves, with their operator, and when they are stolen.

import DispatchRPC
import Encodings
import Testing
import TouchstoneCrypto

@testable import TouchstoneConsole

@Suite("Sessions of operators")
struct SessionTableTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let address: SocketAddress
  private let other: SocketAddress

  init() throws {
    address = try #require(try SocketAddress.resolve(host: "10.0.0.1", port: 1_000).first)
    other = try #require(try SocketAddress.resolve(host: "10.0.0.2", port: 1_000).first)
  }

  private func table(_ keys: UInt8...) -> SessionTable {
    var table = SessionTable()
    for (index, key) in keys.enumerated() {
      table.begin([key], of: "anna", formToken: "\(key)", from: address, at: start + .seconds(index))
    }
    return table
  }

  @Test("A session serves until it was idle for its time, which each use begins anew")
  func idleness() {
    var table = table(1)
    let almost = SessionTable.idleTime - .nanoseconds(1)
    var now = start
    for _ in 0..<3 {
      now = now + almost
      guard case .session = table.use([1], from: address, at: now) else { Issue.record("ended at \(now)"); return }
    }
    #expect(table.use([1], from: address, at: now + SessionTable.idleTime) == .ended)
    // Also when the time is asked for again.
    #expect(table.use([1], from: address, at: now) == .ended)
  }

  @Test("A page that loads itself keeps no session from idling out")
  func following() {
    var table = table(1)
    let almost = start + (SessionTable.idleTime - .nanoseconds(1))
    #expect(table.use([1], from: address, isByPerson: false, at: almost) != .ended)
    #expect(table.use([1], from: address, isByPerson: false, at: start + SessionTable.idleTime) == .ended)
  }

  @Test("A notice is shown once, on its own page and in its own session")
  func notices() {
    var table = table(1, 2)
    let notice = SessionTable.Notice(path: "/console/profile?profile=a", action: .revoke, archivedThrough: 0)
    table.leave(notice, for: [1])
    #expect(table.takeNotice(for: [2], at: notice.path) == nil)
    #expect(table.takeNotice(for: [1], at: "/console") == nil)
    #expect(table.takeNotice(for: [1], at: notice.path) == notice)
    #expect(table.takeNotice(for: [1], at: notice.path) == nil)
    table.leave(notice, for: [9])
    #expect(table.count == 2)
  }

  @Test("A session that is used all the time ends with the working day")
  func absoluteTime() {
    var table = table(1)
    var now = start
    while now + .seconds(600) < start + SessionTable.absoluteTime {
      now = now + .seconds(600)
      guard case .session = table.use([1], from: address, at: now) else { Issue.record("ended at \(now)"); return }
    }
    #expect(table.use([1], from: address, at: start + SessionTable.absoluteTime) == .ended)
  }

  @Test("Used from another address, a session ends for both")
  func theft() throws {
    var table = table(1)
    guard case .moved(let session) = table.use([1], from: other, at: start) else { Issue.record("not moved"); return }
    #expect(session.operatorName == "anna")
    #expect(table.use([1], from: address, at: start) == .ended)
  }

  @Test("Another port of the same address is the same browser")
  func ports() throws {
    var table = table(1)
    let again = try #require(try SocketAddress.resolve(host: "10.0.0.1", port: 2_000).first)
    guard case .session = table.use([1], from: again, at: start) else { Issue.record("ended"); return }
  }

  @Test("An unknown id is no session, and makes none")
  func fixation() {
    var table = table()
    #expect(table.use([9], from: address, at: start) == .ended)
    #expect(table.count == 0)
  }

  @Test("The oldest of an operator's sessions makes room for one too many, and no other operator's does")
  func limit() {
    var table = SessionTable()
    table.begin([100], of: "otto", formToken: "", from: address, at: start)
    for key in 0...UInt8(SessionTable.maximumPerOperator) {
      table.begin([key], of: "anna", formToken: "", from: address, at: start + .seconds(Int(key) + 1))
    }
    let now = start + .seconds(60)
    #expect(table.use([0], from: address, at: now) == .ended)
    #expect(table.use([1], from: address, at: now) != .ended)
    #expect(table.use([100], from: address, at: now) != .ended)
    #expect(table.count == SessionTable.maximumPerOperator + 1)
  }

  @Test("Sessions that are over take no room")
  func sweeping() {
    var table = table(1, 2)
    table.begin([3], of: "otto", formToken: "", from: address, at: start + SessionTable.absoluteTime)
    #expect(table.count == 1)
  }

  @Test("A removed operator's sessions end, and others go on")
  func removal() {
    var table = table(1)
    table.begin([2], of: "otto", formToken: "", from: address, at: start)
    table.end(of: ["anna"])
    #expect(table.use([1], from: address, at: start) == .ended)
    #expect(table.use([2], from: address, at: start) != .ended)
  }
}

@Suite("Ids of sessions")
struct SessionIDTests {
  private let ids = SessionIDs(pepper: .random())

  @Test("An id leads to its session's key, and each is another one")
  func making() {
    let (first, second) = (ids.make(), ids.make())
    #expect(ids.key(of: first.id) == first.key)
    #expect(first.id != second.id && first.key != second.key)
    // The table does not hold what a cookie needs.
    #expect(!first.id.contains(Base64URL.encode(first.key)))
  }

  @Test("What this installation did not make is not genuine")
  func forging() {
    let id = ids.make().id
    let changed = (id.first == "A" ? "B" : "A") + id.dropFirst()
    let strange = SessionIDs(pepper: .random()).make().id
    for forged in ["", "x", String(id.dropLast()), id + "A", changed, strange, String(repeating: "A", count: id.count)]
    {
      #expect(ids.key(of: forged) == nil, "\(forged)")
    }
  }

  @Test("Another process with the same pepper recognises an id as genuine, though it has no such session")
  func replicas() {
    let pepper = Pepper.random()
    #expect(SessionIDs(pepper: pepper).key(of: SessionIDs(pepper: pepper).make().id) != nil)
  }
}
