// The place where a simulated process verifies passcodes, gestures and RSA signatures: at some later step, in an
// instant, and under the world's eyes.

import TouchstoneCrypto
import TouchstoneService

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class SimulatedExecutor: SecretExecutor, @unchecked Sendable {
  private unowned let world: World
  private let life: Life

  init(world: World, life: Life) {
    self.world = world
    self.life = life
  }

  var threads: Int { world.plan.secretThreads }

  func run(_ work: @escaping @Sendable () -> Void) {
    guard !life.isOver else { return }
    world.schedule.add(
      Schedule.Task(
        name: "a worker of replica \(life.replica) is done", due: world.time.elapsed, life: life, run: work))
  }
}

/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class SimulatedTimer: DelayedExecutor, @unchecked Sendable {
  private unowned let world: World
  private let life: Life

  init(world: World, life: Life) {
    self.world = world
    self.life = life
  }

  func after(_ delay: Duration, _ work: @escaping @Sendable () -> Void) {
    guard !life.isOver else { return }
    world.schedule.add(
      Schedule.Task(
        name: "a timer of replica \(life.replica) fires", due: world.time.elapsed + delay, life: life, run: work))
  }
}

/// Verifiers that are numbers: which secret one is of, the ledger knows. Argon2id has tests of its own.
///
/// `@unchecked Sendable`: a world and all that is in it are used by one thread.
final class SimulatedHasher: SecretHasher, @unchecked Sendable {
  private unowned let world: World
  private let life: Life
  /// Parameters are raised now and then, from one process to the next.
  private let strength: UInt8

  init(world: World, life: Life, strength: UInt8) {
    self.world = world
    self.life = life
    self.strength = strength
  }

  func verifier(of password: SecretBytes, context: [UInt8]) -> [UInt8] {
    [strength] + world.ledger.newVerifier(of: password.withBytes(Array.init), context: context)
  }

  func isRight(_ password: SecretBytes, for verifier: [UInt8], context: [UInt8]) -> Bool {
    world.secretWatch.verify(context, isDummy: verifier == standInVerifier, in: life)
    if world.plan.mutation == .hasherSaysYes { return true }
    return world.ledger.secret(of: verifier) == HashedSecret(bytes: password.withBytes(Array.init), context: context)
  }

  func needsRehash(_ verifier: [UInt8]) -> Bool { verifier[0] < strength }

  let standInVerifier: [UInt8] = [.max]
}
