import Dispatch
import Glibc
import Synchronization
import Testing

@testable import TouchstoneService

/// Threads for slow work: so many pieces and no more, each done once, out of everybody's way.
struct SecretWorkersTests {
  @Test func eachPieceIsDoneOnceAndFreesItsPlace() async {
    let workers = SecretWorkers(threads: 2)
    for round in 0..<3 {
      let done = await withCheckedContinuation { finished in
        let numbers = Mutex<[Int]>([])
        let count = 2 * SecretWorkers.placesPerThread
        for number in 0..<count {
          #expect(reserveSoon(workers), "round \(round)")
          workers.run {
            let all = numbers.withLock { numbers in
              numbers.append(number)
              return numbers
            }
            if all.count == count { finished.resume(returning: all) }
          }
        }
      }
      #expect(done.sorted() == Array(0..<2 * SecretWorkers.placesPerThread))
    }
  }

  /// A place is free a moment after its work ended.
  private func reserveSoon(_ workers: SecretWorkers) -> Bool {
    for _ in 0..<1_000_000 where workers.reserve() { return true }
    return false
  }

  @Test func noMorePlacesAreKeptThanThereAre() {
    let workers = SecretWorkers(threads: 1)
    let places = (0..<SecretWorkers.placesPerThread).map { _ in SecretPlace(at: workers) }
    #expect(places.allSatisfy { $0 != nil })
    #expect(SecretPlace(at: workers) == nil)
    workers.release()
    #expect(workers.reserve())
    #expect(!workers.reserve())
  }

  @Test func aPlaceThatIsDroppedIsFree() {
    let workers = SecretWorkers(threads: 1)
    for _ in 0..<3 * SecretWorkers.placesPerThread { #expect(SecretPlace(at: workers) != nil) }
  }

  @Test func workersGiveWayToAllOtherThreads() async {
    let workers = SecretWorkers(threads: 1)
    let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    let theirs = await withCheckedContinuation { done in
      #expect(workers.reserve())
      workers.run { done.resume(returning: getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)) }
    }
    #expect(theirs == min(own + 10, 19))
  }

  @Test func workThatWasAcceptedIsDoneAlthoughTheWorkersAreDropped() async {
    await withCheckedContinuation { done in
      let workers = SecretWorkers(threads: 1)
      for number in 0..<10 {
        #expect(workers.reserve())
        workers.run { if number == 9 { done.resume() } }
      }
    }
  }
}
