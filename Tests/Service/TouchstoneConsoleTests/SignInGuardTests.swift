// Guesses at operators' passwords are few, for each name, and also if many come at one time.

import DispatchRPC
import Testing

@testable import TouchstoneConsole

@Suite("Locks of sign-ins")
struct SignInGuardTests {
  private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private var machine = SignInGuard()

  private func address(_ number: Int) throws -> SocketAddress {
    try #require(try SocketAddress.resolve(host: "10.0.\(number >> 8).\(number & 255)", port: 1).first)
  }

  /// From an address of its own, so that only the name counts.
  private func attempt(
    _ machine: inout SignInGuard, _ number: Int, at now: MonotonicTime, isKnown: Bool = true
  ) throws -> SignInGuard.OnAttempt {
    machine.attempt([1], isKnown: isKnown, from: try address(number), at: now)
  }

  @Test(
    "After five attempts a name is locked for a minute, then for twice as long each time, and never over 15 minutes",
    arguments: [true, false])
  func ladder(isKnown: Bool) throws {
    var machine = SignInGuard()
    var now = start
    for number in 0..<5 { #expect(try attempt(&machine, number, at: now, isKnown: isKnown) == .verify) }
    for (number, minutes) in [1, 2, 4, 8, 15, 15].enumerated() {
      let lock = Duration.seconds(60 * minutes)
      #expect(try attempt(&machine, 10 + number, at: now, isKnown: isKnown) == .locked(lock))
      now = now + lock
      #expect(try attempt(&machine, 20 + number, at: now, isKnown: isKnown) == .verify)
    }
  }

  @Test("Attempts at one time get no more guesses: each counts before its password is verified")
  func parallel() throws {
    var machine = SignInGuard()
    let admitted = try (0..<50).filter { try attempt(&machine, $0, at: start) == .verify }
    #expect(admitted.count == SignInGuard.freeAttempts)
  }

  @Test("A success forgets the failures before it")
  func success() throws {
    var machine = SignInGuard()
    for number in 0..<4 { _ = try attempt(&machine, number, at: start) }
    #expect(try attempt(&machine, 4, at: start) == .verify)
    machine.succeeded([1], from: try address(4))
    for number in 5..<10 { #expect(try attempt(&machine, number, at: start) == .verify) }
  }

  @Test("An attempt that was not verified counts for nothing")
  func withdrawal() throws {
    var machine = SignInGuard()
    for number in 0..<20 {
      #expect(try attempt(&machine, number, at: start) == .verify)
      machine.withdrawn([1], isKnown: true, from: try address(number), at: start)
    }
  }

  @Test("After an hour without an attempt the failures are forgotten")
  func memory() throws {
    var machine = SignInGuard()
    for number in 0..<4 { _ = try attempt(&machine, number, at: start) }
    let later = start + SignInGuard.memory
    for number in 0..<5 { #expect(try attempt(&machine, number, at: later) == .verify) }
  }

  @Test("One address tries twenty names, and then one each half minute")
  func addresses() throws {
    var machine = SignInGuard()
    let client = try address(1)
    for name in 0..<20 { #expect(machine.attempt([UInt8(name)], isKnown: false, from: client, at: start) == .verify) }
    #expect(machine.attempt([99], isKnown: true, from: client, at: start) == .locked(SignInGuard.addressInterval))
    // Others are not concerned.
    #expect(machine.attempt([99], isKnown: true, from: try address(2), at: start) == .verify)
    let later = start + SignInGuard.addressInterval
    #expect(machine.attempt([100], isKnown: true, from: client, at: later) == .verify)
    #expect(machine.attempt([101], isKnown: true, from: client, at: later) != .verify)
  }

  @Test("Strangers lock no operator out of a client where the operator signed in before")
  func familiarity() throws {
    var machine = SignInGuard()
    let desk = try address(1)
    #expect(machine.attempt([1], isKnown: true, from: desk, at: start) == .verify)
    #expect(!machine.isFamiliar([1], from: desk))
    machine.succeeded([1], from: desk)
    #expect(machine.isFamiliar([1], from: desk))
    #expect(!machine.isFamiliar([2], from: desk))
    for number in 10..<15 { #expect(try attempt(&machine, number, at: start) == .verify) }
    #expect(try attempt(&machine, 20, at: start) != .verify)
    // The desk has attempts of its own, and no more than elsewhere.
    for _ in 0..<SignInGuard.freeAttempts {
      #expect(machine.attempt([1], isKnown: true, from: desk, at: start) == .verify)
    }
    #expect(machine.attempt([1], isKnown: true, from: desk, at: start) == .locked(SignInGuard.firstLock))
    // Success there forgives no stranger.
    machine.succeeded([1], from: desk)
    #expect(try attempt(&machine, 21, at: start) != .verify)
  }

  @Test("An operator's latest clients are remembered, and no more")
  func familiarClients() throws {
    var machine = SignInGuard()
    for number in 0...SignInGuard.familiarClients { machine.succeeded([1], from: try address(number)) }
    let known = try (0...SignInGuard.familiarClients).map { machine.isFamiliar([1], from: try address($0)) }
    #expect(known == [false] + Array(repeating: true, count: SignInGuard.familiarClients))
  }

  @Test("Where an operator signed in with a former password, nothing is familiar")
  func forgetting() throws {
    var machine = SignInGuard()
    let desk = try address(1)
    machine.succeeded([1], from: desk)
    machine.succeeded([2], from: desk)
    machine.forget([1])
    #expect(!machine.isFamiliar([1], from: desk))
    #expect(machine.isFamiliar([2], from: desk))
  }

  @Test("However many names and addresses come, a known name's failures stay")
  func floods() throws {
    var machine = SignInGuard()
    for number in 0..<5 { _ = try attempt(&machine, number, at: start) }
    for number in 0..<(SignInGuard.maximumUnknownNames + 100) {
      let name = [UInt8(2), UInt8(number >> 8), UInt8(number & 255)]
      _ = machine.attempt(name, isKnown: false, from: try address(number), at: start)
    }
    #expect(try attempt(&machine, 6_000, at: start) != .verify)
  }
}
