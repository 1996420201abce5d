import DispatchRPC
import Testing
import TouchstoneCodec
import TouchstoneStore

@testable import TouchstoneService

/// A crowd of lists, profiles or erasures of one caller, and others beside it. The store does what a test lets go.
struct StorePermitsTests {
  struct Method: Sendable, CustomTestStringConvertible {
    var path: String
    var work: MemoryStore.HeldWork
    var permits: Int
    /// How often each call asks the store in its place.
    var steps = 1
    var request: @Sendable (_ application: String, _ profile: String) -> any WireMessage

    var testDescription: String { path }

    static let all = [
      Method(
        path: "BindingService/ListBindings", work: .bindingReads, permits: StorePermits.Kind.bindingReads.permits,
        request: { V1.ListBindingsRequest(applicationID: $0, profileID: $1) }),
      // The active ones, and those that are revoked.
      Method(
        path: "AdministrationService/GetProfile", work: .bindingReads, permits: StorePermits.Kind.bindingReads.permits,
        steps: 2, request: { V1.GetProfileRequest(applicationID: $0, profileID: $1) }),
      Method(
        path: "AdministrationService/EraseProfile", work: .erasures, permits: StorePermits.Kind.erasures.permits,
        request: { V1.EraseProfileRequest(applicationID: $0, profileID: $1, reason: "asked for it") }),
    ]
  }

  private let bench = InProcessService {
    $0.callers = [CallerDefinition("shop", keys: [TestKey.shop]), CallerDefinition("bank", keys: [TestKey.bank])]
  }

  private func begin(
    _ method: Method, by key: String = TestKey.shop, in application: String = "game", of profile: String = "nobody"
  ) throws -> InProcessCall {
    try bench.begin(
      "/touchstone.v1.\(method.path)", method.request(application, profile), key: key)
  }

  private func crowd(_ method: Method, _ count: Int) throws -> [InProcessCall] {
    try (0..<count).map { try begin(method, of: "nobody-\($0)") }
  }

  private func isAnswered(_ call: InProcessCall) -> Bool { !call.sent.isEmpty || call.error?.code == .notFound }
  private func isRefused(_ call: InProcessCall) -> Bool { call.error?.code == .resourceExhausted }

  @Test(arguments: Method.all)
  func theStoreHasLittleToDoAtOneTime(_ method: Method) throws {
    bench.store.hold(method.work)
    let calls = try crowd(method, 50) + (0..<50).map { _ in try begin(method, by: TestKey.bank, in: "bank") }
    var maximum = 0
    let steps = bench.go(method.work) {
      maximum = max(maximum, bench.store.heldCount(method.work))
      return false
    }
    #expect(maximum == method.permits)
    #expect(steps == 100 * method.steps)
    #expect(calls.allSatisfy(isAnswered))
  }

  @Test(arguments: Method.all, [(TestKey.bank, "bank"), (TestKey.bank, "game"), (TestKey.shop, "shop")])
  func aCrowdKeepsNobodyElseWaiting(_ method: Method, other: (key: String, application: String)) throws {
    bench.store.hold(method.work)
    _ = try crowd(method, 100)
    let calls = try (0..<5).map { _ in try begin(method, by: other.key, in: other.application) }
    // For each of them one of the crowd's, and those that had their permits.
    #expect(bench.go(method.work) { calls.allSatisfy(isAnswered) } <= (2 * calls.count + method.permits) * method.steps)
  }

  /// However many events they erase: a permit lasts until the profile is gone.
  @Test(arguments: [TestKey.shop, TestKey.bank])
  func twoErasuresOfOneApplicationKeepNoOtherApplicationWaiting(key: String) throws {
    let erasure = try #require(Method.all.last)
    bench.store.hold(.erasures)
    let long = try [TestKey.shop, key].map { try begin(erasure, by: $0) }
    let other = try begin(erasure, in: "shop")
    #expect(bench.store.go(.erasures, newest: true))
    bench.settle()
    #expect(isAnswered(other) && !long.contains(where: isAnswered))
    bench.go(.erasures)
    #expect(long.allSatisfy(isAnswered))
  }

  @Test(arguments: Method.all)
  func tooManyOfOneCallerLeaveRoomForOthers(_ method: Method) throws {
    bench.store.hold(method.work)
    let calls = try crowd(method, StorePermits.maximumWaiting)
    let refused = calls.filter(isRefused)
    // A third is for the caller's other applications, and for other callers.
    #expect(refused.count > StorePermits.maximumWaiting / 4 && refused.count < StorePermits.maximumWaiting / 2)
    #expect(refused.allSatisfy { $0.error?.quotas.map(\.subject) == ["caller:shop"] })
    for key in [TestKey.bank, TestKey.shop] {
      #expect(try !isRefused(begin(method, by: key, in: "other")))
    }
    bench.go(method.work)
    #expect(calls.count(where: isAnswered) == calls.count - refused.count)
    // All is free again.
    #expect(try !crowd(method, 100).contains(where: isRefused))
  }

  /// Each holds certificates while it waits.
  @Test func fewerBindingsWithCertificatesWait() async throws {
    let permits = StorePermits(.keyProofs)
    let call = try begin(Method.all[0])
    let tasks = (0..<StorePermits.maximumWaiting).map { number in
      Task.immediate { () async throws(RequestError) in
        try await permits.permit(
          for: call, of: Caller(identity: "caller \(number)"), applicationID: "shop \(number)")
      }
    }
    var taken = 0
    for task in tasks {
      switch await task.result {
      case .success(let permit):
        permit.end()
        taken += 1
      case .failure(let error): #expect((error as? RequestError)?.code == .resourceExhausted)
      }
    }
    #expect(taken == StorePermits.Kind.keyProofs.permits + StorePermits.Kind.keyProofs.waiting)
    #expect(StorePermits.Kind.keyProofs.waiting * 4 < StorePermits.maximumWaiting)
  }

  @Test(arguments: Method.all)
  func forACallerWhoIsGoneNothingIsDone(_ method: Method) throws {
    bench.store.hold(method.work)
    let calls = try crowd(method, 20)
    let steps = bench.store.heldCount(method.work) * method.steps
    for call in calls { call.cancel() }
    #expect(bench.go(method.work) == steps)
    let other = try begin(method, by: TestKey.bank)
    bench.go(method.work)
    #expect(isAnswered(other))
  }

  @Test(arguments: Method.all)
  func aStoreThatFailsGivesTheTurnBack(_ method: Method) throws {
    bench.store.failReads(.unavailable)
    bench.store.failCommits(.unavailable)
    #expect(try crowd(method, 20).allSatisfy { $0.error?.code == .unavailable })
    bench.store.recover()
    #expect(try crowd(method, 20).allSatisfy(isAnswered))
  }
}
