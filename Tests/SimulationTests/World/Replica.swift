// A process that serves: it can die at any moment, and another one takes its place over the same store.

import Logging
import TouchstoneCrypto
import TouchstonePolicy
import TouchstoneService

/// One process from its start to its death.
///
/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class Life: @unchecked Sendable {
  let replica: Int
  let shards: [SimulatedShard]
  fileprivate(set) var isOver = false
  /// Given to a shard and not answered. Of a life that is over: as they were when it ended.
  fileprivate(set) var calls: [Call] = []

  /// Those in force, each from a step on.
  fileprivate(set) var policies: [(step: Int, policies: [EvaluationPolicy])]

  init(replica: Int, shardCount: Int, policies: [EvaluationPolicy], at step: Int) {
    self.replica = replica
    self.policies = [(step, policies)]
    shards = (0..<shardCount).map(SimulatedShard.init)
  }
}

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class Replica: @unchecked Sendable {
  private static let shardCount = 2

  let index: Int
  private(set) var life: Life { didSet { lives.append(life) } }
  private var lives: [Life] = []
  private var service: TouchstoneService
  private var methods: MethodTable
  private unowned let world: World

  init(index: Int, world: World) {
    self.index = index
    self.world = world
    life = Life(replica: index, shardCount: Self.shardCount, policies: world.plan.servedPolicies, at: world.time.step)
    service = world.makeService(for: life, shardCount: Self.shardCount)
    methods = service.methods
    lives = [life]
  }

  func accept(_ call: Call) {
    life.calls.append(call)
    call.shard.execute { [self, life = life] in
      guard !life.isOver else { return }
      call.dispatchedStep = world.time.step
      call.message.withUnsafeBytes { methods.dispatch(call, $0) }
    }
  }

  func forget(_ call: Call) {
    guard !call.life.isOver else { return }
    call.life.calls.removeAll { $0 === call }
  }

  func wakeUp(_ shard: SimulatedShard) {
    shard.wakeUp(reading: world.chance.within(1...shard.waitingCount)) { service.wakeUpEnded(on: $0) }
  }

  func replacePolicies(_ policies: [EvaluationPolicy], at step: Int) {
    life.policies.append((step, policies))
    service.replacePolicies(policies)
  }

  /// Nobody holds anybody any longer.
  func disband() {
    end()
    for life in lives { life.calls = [] }
  }

  private func end() {
    life.isOver = true
    world.schedule.removeAll(of: life)
    for shard in life.shards { shard.stop() }
  }

  /// kill -9, and a new process over what was committed. Nobody ever hears of the calls in flight.
  func restart() {
    let lost = life.calls
    end()
    life = Life(replica: index, shardCount: Self.shardCount, policies: world.plan.servedPolicies, at: world.time.step)
    service = world.makeService(for: life, shardCount: Self.shardCount)
    methods = service.methods
    for call in lost { call.lose() }
  }
}
