// The event loop alone: jobs, objects of its own, and what debug builds check.

import Dispatch
import Foundation
import TestSupport
import Testing

@testable import EventLoops

@Suite(.mustEnd) struct EventLoopTests {
  private final class Counter: LoopLocal {
    var count = 0

    init(on loop: EventLoop) {}
  }

  private final class Job: EventLoopJob {
    let done: Box<Bool>
    let loop: EventLoop

    init(_ loop: EventLoop, _ done: Box<Bool>) {
      self.loop = loop
      self.done = done
    }

    func run() {
      done.put(loop.isCurrent)
    }
  }

  @Test func eachLoopHasAnObjectOfItsOwn() {
    let loops = [EventLoop(label: "test.first"), EventLoop(label: "test.second")]
    for loop in loops { loop.sync { loop.local(Counter.self).count += 1 } }
    loops[0].sync { loops[0].local(Counter.self).count += 1 }
    #expect(loops.map { loop in loop.sync { loop.local(Counter.self).count } } == [2, 1])
  }

  @Test func anObjectCanBeAJob() async {
    let loop = EventLoop(label: "test.jobs")
    let done = Box<Bool>()
    loop.execute(Job(loop, done))
    #expect(await done.next())
  }

  @Test func aConfinedValueIsReachedByItsLoop() async {
    let loop = EventLoop(label: "test.confined")
    let confined = LoopConfined(Counter(on: loop), on: loop)
    let seen = Box<Int>()
    confined.execute { $0.count += 1 }
    confined.execute { seen.put($0.count) }
    #expect(await seen.next() == 1)
  }

  @Test func aPacerRunsAfterJobsAndWhenItsTimeHasCome() async {
    let loop = EventLoop(label: "test.pacer")
    let runs = Box<(jobs: Int, at: MonotonicTime)>()
    let pause = Duration.milliseconds(5)
    loop.execute {
      loop.setPacer { jobs in
        let now = MonotonicTime.now()
        runs.put((jobs, now))
        return now + pause
      }
    }
    let first = await runs.next()
    #expect(first.jobs == 1)
    var last = first
    while last.at - first.at < pause * 3 { last = await runs.next() }
    // By its own times: nothing else woke the loop.
    #expect(last.jobs == 0)
    let removed = Box<Void>()
    loop.execute {
      loop.setPacer(nil)
      removed.put(())
    }
    await removed.next()
  }

  @Test func aTaskRunsOnTheLoop() async {
    let executor = LoopExecutor()
    let isCurrent = await Task(executorPreference: executor) { executor.loop.isCurrent }.value
    #expect(isCurrent)
  }

  private final class LoopExecutor: TaskExecutor {
    let loop = EventLoop(label: "test.executor")

    func enqueue(_ job: consuming ExecutorJob) {
      loop.execute(UnownedJob(job), on: asUnownedTaskExecutor())
    }
  }

  // MARK: Work that blocks

  @Test func workThatBlocksIsConcludedOnTheLoop() async {
    let loop = EventLoop(label: "test.blocking")
    let seen = Box<Bool>()
    loop.execute {
      let isTaken = EventLoop.block(after: .zero) {
        seen.put(loop.isCurrent)
        return { seen.put(loop.isCurrent) }
      }
      seen.put(isTaken)
      seen.put(EventLoop.block(after: .zero) { {} })
    }
    #expect(await [seen.next(), seen.next(), seen.next(), seen.next()] == [true, false, false, true])
    #expect(!EventLoop.block(after: .zero) { {} }, "elsewhere")
  }

  /// Each time another thread leads, and the one before stands by.
  @Test func whileWorkBlocksTheLoopGoesOn() async {
    let loop = EventLoop(label: "test.blocking")
    for _ in 0..<20 {
      let (begun, onLoop, concluded) = (Box<Void>(), Box<Bool>(), Box<Bool>())
      let goesOn = DispatchSemaphore(value: 0)
      loop.execute {
        _ = EventLoop.block(after: .zero) {
          begun.put(())
          goesOn.wait()
          return { concluded.put(loop.isCurrent) }
        }
      }
      await begun.next()
      loop.execute { onLoop.put(loop.isCurrent) }
      #expect(await onLoop.next())
      goesOn.signal()
      #expect(await !concluded.next(), "another thread leads")
    }
  }

  /// Many threads post jobs, while every round has work that blocks: all are done once, and one at a time.
  @Test func noJobIsLostBetweenTwoThreads() async {
    let loop = EventLoop(label: "test.blocking")
    let (count, done) = (10_000, Box<Int>())
    let counter = LoopConfined(Counter(on: loop), on: loop)
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          for number in 0..<count {
            counter.execute { counter in
              counter.count += 1
              _ = EventLoop.block(after: number.isMultiple(of: 3) ? .microseconds(50) : .zero) { {} }
              if counter.count == 4 * count { done.put(counter.count) }
            }
          }
        }
      }
    }
    #expect(await done.next() == 4 * count)
  }

  @Test func workThatIsDueLaterIsDoneByALoopThatNobodyKeeps() async {
    let (begun, done) = (Box<Void>(), Box<Void>())
    var loop: EventLoop? = EventLoop(label: "test.dropped")
    loop?.execute {
      _ = EventLoop.block(after: .milliseconds(5)) { { done.put(()) } }
      begun.put(())
    }
    await begun.next()
    loop = nil
    await done.next()
  }

  /// Whether the first thread had begun or not.
  @Test func theThreadsOfALoopThatIsDroppedEnd() async throws {
    for _ in 0..<50 { _ = EventLoop(label: "test.ends") }
    while try Self.threadNames().contains("test.ends\n") { await Task.yield() }
  }

  private static func threadNames() throws -> [String] {
    let directory = "/proc/self/task"
    return try FileManager.default.contentsOfDirectory(atPath: directory).compactMap { thread in
      try? String(contentsOfFile: "\(directory)/\(thread)/comm", encoding: .utf8)
    }
  }

  #if DEBUG
    @Test func anotherThreadIsCaught() async {
      await #expect(processExitsWith: .failure) {
        _ = EventLoop(label: "test.elsewhere").now
      }
      await #expect(processExitsWith: .failure) {
        let loop = EventLoop(label: "test.elsewhere")
        _ = LoopConfined(1, on: loop).value
      }
    }
  #endif
}
