// A process that serves: it can die at any moment, and another one takes its place over the same store.

import TouchstonePolicy
import TouchstoneService

/// One process from its start to its death.
///
/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class Life: @unchecked Sendable {
  let replica: Int
  let loops: [SimulatedEventLoop]
  fileprivate(set) var isOver = false
  /// Calls given to an event loop and not answered. If the life is over: as they were when it ended.
  fileprivate(set) var calls: [Call] = []

  /// The settings in force, each from a step on.
  fileprivate(set) var policies: [(step: Int, policies: [EvaluationPolicy])]

  init(replica: Int, eventLoopCount: Int, policies: [EvaluationPolicy], at step: Int) {
    self.replica = replica
    self.policies = [(step, policies)]
    loops = (0..<eventLoopCount).map(SimulatedEventLoop.init)
  }
}

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class Replica: @unchecked Sendable {
  private static let eventLoopCount = 2

  let index: Int
  private(set) var life: Life { didSet { lives.append(life) } }
  private var lives: [Life] = []
  private var service: TouchstoneService
  private var methods: MethodTable
  private unowned let world: World

  init(index: Int, world: World) {
    self.index = index
    self.world = world
    life = Life(
      replica: index, eventLoopCount: Self.eventLoopCount, policies: world.plan.servedPolicies, at: world.time.step)
    service = world.makeService(for: life, eventLoopCount: Self.eventLoopCount)
    methods = service.methods
    lives = [life]
  }

  func accept(_ call: Call) {
    life.calls.append(call)
    call.loop.execute { [self, life = life] in
      guard !life.isOver else { return }
      call.dispatchedStep = world.time.step
      call.message.withUnsafeBytes { methods.dispatch(call, $0) }
    }
  }

  func forget(_ call: Call) {
    guard !call.life.isOver else { return }
    call.life.calls.removeAll { $0 === call }
  }

  func runRound(of loop: SimulatedEventLoop) {
    loop.runRound(reading: world.chance.within(1...loop.waitingCount)) { service.roundEnded(on: $0) }
  }

  func replacePolicies(_ policies: [EvaluationPolicy], at step: Int) {
    life.policies.append((step, policies))
    service.replacePolicies(policies)
  }

  /// Breaks the reference cycles of the replica.
  func disband() {
    end()
    for life in lives { life.calls = [] }
  }

  private func end() {
    life.isOver = true
    world.schedule.removeAll(of: life)
    for loop in life.loops { loop.stop() }
  }

  /// kill -9, and a new process over the committed records. The calls in flight are never answered.
  func restart() {
    let lost = life.calls
    end()
    life = Life(
      replica: index, eventLoopCount: Self.eventLoopCount, policies: world.plan.servedPolicies, at: world.time.step)
    service = world.makeService(for: life, eventLoopCount: Self.eventLoopCount)
    methods = service.methods
    for call in lost { call.lose() }
  }
}
