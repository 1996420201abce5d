import Glibc
import Synchronization
import Testing

@testable import TouchstoneService

/// Threads for slow work: each piece done once, out of everybody's way.
struct SecretWorkersTests {
  @Test func eachPieceIsDoneOnce() async {
    let workers = SecretWorkers(threads: 2)
    let count = 100
    let done = await withCheckedContinuation { finished in
      let numbers = Mutex<[Int]>([])
      for number in 0..<count {
        workers.run {
          let all = numbers.withLock { numbers in
            numbers.append(number)
            return numbers
          }
          if all.count == count { finished.resume(returning: all) }
        }
      }
    }
    #expect(done.sorted() == Array(0..<count))
  }

  @Test func workersGiveWayToAllOtherThreads() async {
    let workers = SecretWorkers(threads: 1)
    let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    let theirs = await withCheckedContinuation { done in
      workers.run { done.resume(returning: getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)) }
    }
    #expect(theirs == min(own + 10, 19))
  }

  @Test func workThatWasAcceptedIsDoneAlthoughTheWorkersAreDropped() async {
    await withCheckedContinuation { done in
      let workers = SecretWorkers(threads: 1)
      for number in 0..<10 {
        workers.run { if number == 9 { done.resume() } }
      }
    }
  }
}
