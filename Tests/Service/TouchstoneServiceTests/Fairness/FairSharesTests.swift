import TestSupport
import Testing

@testable import TouchstoneService

/// Queues and numbers that applications, callers and names share.
struct FairSharesTests {
  private func tenant(_ caller: String, _ application: String = "game") -> FairShares.Tenant {
    FairShares.Tenant(caller: Array(caller.utf8), application: Array(application.utf8))
  }

  /// Takes as many as there are for the tenant, and says what stands in the way of more.
  @discardableResult
  private func fill(_ shares: inout FairShares, _ tenant: FairShares.Tenant) -> (count: Int, limit: FairShares.Limit) {
    var count = 0
    while true {
      if let limit = shares.limit(for: tenant) { return (count, limit) }
      shares.take(for: tenant)
      count += 1
    }
  }

  // MARK: Shares

  @Test func oneApplicationOfOneCallerHoldsTwoThirds() {
    var shares = FairShares(capacity: 1_200)
    #expect(fill(&shares, tenant("web")) == (800, .application))
    // Both another application of its caller and another caller of it find room.
    #expect(fill(&shares, tenant("web", "bank")).count > 25)
    #expect(fill(&shares, tenant("mobile")).count > 5)
    #expect(fill(&shares, tenant("mobile", "bank")).count > 100)
  }

  /// However many applications it names.
  @Test func aCallerAloneHoldsFourFifths() {
    var shares = FairShares(capacity: 1_000)
    for application in 0..<500 { fill(&shares, tenant("web", "\(application)")) }
    #expect(shares.total == 800)
    #expect(shares.limit(for: tenant("web", "another")) == .caller)
    #expect(!shares.hasRoom(forCaller: Array("web".utf8)))
    #expect(fill(&shares, tenant("mobile", "bank")).count > 100)
  }

  /// However many callers it has.
  @Test func anApplicationAloneHoldsFourFifths() {
    var shares = FairShares(capacity: 1_000)
    for caller in 0..<500 { fill(&shares, tenant("\(caller)")) }
    #expect(shares.total == 800)
    #expect(shares.limit(for: tenant("another")) == .application)
    #expect(fill(&shares, tenant("another", "bank")).count > 100)
  }

  /// Twelve are the permits of one thread.
  @Test func fewAreLeftOfFew() {
    var shares = FairShares(capacity: 12)
    #expect(fill(&shares, tenant("web")).count == 8)
    #expect(fill(&shares, tenant("web", "bank")).count == 2)
    #expect(fill(&shares, tenant("mobile", "shop")).count == 2)
  }

  @Test(arguments: 1...9)
  func callersComeToEqualShares(_ count: Int) {
    var shares = FairShares(capacity: 1_000)
    var held: [Int: [FairShares.Tenant]] = [:]
    // They take what they can get, the first one before all others, and give back what is done.
    for round in 0..<3_000 {
      for caller in 0..<count {
        if let done = held[caller]?.first {
          shares.giveBack(by: done)
          held[caller]?.removeFirst()
        }
        for application in 0..<3 {
          let tenant = tenant("\(caller)", "\(caller)-\(application + round % 3)")
          guard shares.limit(for: tenant) == nil else { continue }
          shares.take(for: tenant)
          held[caller, default: []].append(tenant)
        }
      }
    }
    let fair = 1_000 * 4 / (4 * count + 1)
    #expect(held.values.allSatisfy { (fair - 40...fair + 20).contains($0.count) }, "\(held.mapValues(\.count))")
    #expect(shares.limit(for: tenant("new")) == nil)
  }

  @Test func oneOfOneIsForWhoeverComesFirst() {
    var shares = FairShares(capacity: 1)
    #expect(fill(&shares, tenant("web")) == (1, .server))
    #expect(shares.limit(for: tenant("mobile")) == .server)
    shares.giveBack(by: tenant("web"))
    #expect(shares.limit(for: tenant("mobile")) == nil)
  }

  /// Identifiers are compared byte for byte: to a text, these two are equal.
  @Test func twoSpellingsAreTwoApplications() {
    var shares = FairShares(capacity: 1_000)
    fill(&shares, tenant("web", "caf\u{e9}"))
    #expect(shares.limit(for: tenant("web", "cafe\u{301}")) == nil)
  }

  // MARK: Queue

  /// Served in this order.
  private func order(_ queue: FairQueue<String, String>, where mayBeServed: ([String]) -> Bool = { _ in true })
    -> [String]
  {
    var queue = queue
    var served: [String] = []
    while let item = queue.removeFirst(where: mayBeServed) { served.append(item) }
    return served
  }

  private func queue(_ items: String...) -> FairQueue<String, String> {
    var queue = FairQueue<String, String>()
    for item in items { queue.append(item, at: item.split(separator: "/").dropLast().map(String.init)[...]) }
    return queue
  }

  @Test func branchesTakeTurnsAtEachLevel() {
    let queue = queue("a/x/1", "a/x/2", "a/x/3", "a/y/1", "b/x/1", "b/x/2")
    #expect(order(queue) == ["a/x/1", "b/x/1", "a/y/1", "b/x/2", "a/x/2", "a/x/3"])
  }

  @Test func aBranchThatMayNotBeServedKeepsItsTurn() {
    var queue = queue("a/1", "b/1", "b/2", "c/1")
    #expect(queue.removeFirst { $0 != ["a"] } == "b/1")
    #expect(order(queue) == ["a/1", "c/1", "b/2"])
    #expect(queue.removeFirst { $0 == ["d"] } == nil)
    #expect(queue.count == 3)
  }

  /// The first branch has nothing that may be served, although it may be.
  @Test func aBranchBehindAnotherOneKeepsItsTurn() {
    var queue = queue("a/x/1", "a/y/1", "b/x/1")
    #expect(queue.removeFirst { $0.last != "x" } == "a/y/1")
    #expect(queue.removeFirst { $0 != ["a", "x"] } == "b/x/1")
    #expect(order(queue) == ["a/x/1"])
  }

  @Test func whatIsRemovedLeavesTheOthersInTheirOrder() {
    var queue = queue("a/x/1", "b/x/1", "a/x/2", "b/y/1", "c/x/1")
    #expect(queue.removeAll { $0.hasSuffix("x/1") } == ["a/x/1", "b/x/1", "c/x/1"])
    #expect(queue.count == 2)
    #expect(order(queue) == ["a/x/2", "b/y/1"])
  }

  /// Each item once, and no branch served again before all that had items were.
  @Test(arguments: UInt64(1)...20)
  func nobodyIsServedTwiceBeforeTheOthers(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var queue = FairQueue<Int, Int>()
    var waiting: [Int: [Int]] = [:]
    var turnsSince: [Int: Int] = [:]
    for number in 0..<500 {
      if Bool.random(using: &random) {
        let key = Int.random(in: 0..<6, using: &random)
        queue.append(number, at: [key, Int.random(in: 0..<3, using: &random)])
        waiting[key, default: []].append(number)
      } else if let served = queue.removeFirst() {
        guard let key = waiting.first(where: { $0.value.contains(served) })?.key else {
          Issue.record("\(served) was not waiting")
          return
        }
        waiting[key]?.removeAll { $0 == served }
        if waiting[key] == [] { waiting[key] = nil }
        for other in waiting.keys { turnsSince[other, default: 0] += 1 }
        turnsSince[key] = 0
        #expect(turnsSince.values.max() ?? 0 <= 6)
      }
      #expect(queue.count == waiting.values.joined().count)
    }
  }
}
