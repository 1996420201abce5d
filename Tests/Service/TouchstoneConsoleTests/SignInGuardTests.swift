// Guesses at operators' passwords are few, for each name, and also if many come at one time or from many addresses.

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
    machine.attempt(try from(number, isKnown: isKnown), at: now)
  }

  private func from(
    _ address: Int, _ name: SignInGuard.NameKey = [1], isKnown: Bool = true, browser: BrowserProofs.BrowserID? = nil
  ) throws -> SignInGuard.Attempt {
    SignInGuard.Attempt(name: name, isKnown: isKnown, browser: browser, address: try self.address(address))
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
    machine.succeeded(try from(4))
    for number in 5..<10 { #expect(try attempt(&machine, number, at: start) == .verify) }
  }

  @Test("An attempt that was not verified counts for nothing")
  func withdrawal() throws {
    var machine = SignInGuard()
    for number in 0..<20 {
      #expect(try attempt(&machine, number, at: start) == .verify)
      machine.withdrawn(try from(number), at: start)
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
    for name in 0..<20 { #expect(machine.attempt(try from(1, [UInt8(name)], isKnown: false), at: start) == .verify) }
    #expect(machine.attempt(try from(1, [99]), at: start) == .locked(SignInGuard.addressInterval))
    // Others are not concerned.
    #expect(machine.attempt(try from(2, [99]), at: start) == .verify)
    let later = start + SignInGuard.addressInterval
    #expect(machine.attempt(try from(1, [100]), at: later) == .verify)
    #expect(machine.attempt(try from(1, [101]), at: later) != .verify)
  }

  @Test("All strangers together fail thirty times at once, and then twice a second; successes count for nothing")
  func strangers() throws {
    var machine = SignInGuard()
    func next(_ number: Int) throws -> SignInGuard.Attempt {
      try from(number, [UInt8(number >> 8), UInt8(number & 255)], isKnown: false)
    }
    for number in 0..<SignInGuard.strangersAtOnce {
      #expect(machine.attempt(try next(number), at: start) == .verify)
      let right = try from(5_000 + number, [9, 9, UInt8(number)])
      if number + 1 < SignInGuard.strangersAtOnce {
        #expect(machine.attempt(right, at: start) == .verify)
        machine.succeeded(right)
      }
    }
    #expect(machine.attempt(try next(100), at: start) == .crowded)
    // A familiar browser passes, also at the stranger's address.
    #expect(machine.attempt(try from(0, browser: [7]), at: start) == .verify)
    let later = start + SignInGuard.strangerInterval
    #expect(machine.attempt(try next(101), at: later) == .verify)
    #expect(machine.attempt(try next(102), at: later) == .crowded)
  }

  @Test("Strangers at an operator's own address lock no familiar browser out, which has as many guesses as a name")
  func familiarity() throws {
    var machine = SignInGuard()
    for name in 0..<20 { _ = machine.attempt(try from(1, [UInt8(name)]), at: start) }
    #expect(machine.attempt(try from(1), at: start) != .verify)
    for number in 10..<14 { #expect(try attempt(&machine, number, at: start) == .verify) }
    #expect(try attempt(&machine, 20, at: start) != .verify)
    for _ in 0..<SignInGuard.freeAttempts {
      #expect(machine.attempt(try from(1, browser: [7]), at: start) == .verify)
    }
    #expect(machine.attempt(try from(1, browser: [7]), at: start) == .locked(SignInGuard.firstLock))
    // Another one of the operator's is not concerned, and its success forgives nobody else.
    #expect(machine.attempt(try from(1, browser: [8]), at: start) == .verify)
    machine.succeeded(try from(1, browser: [8]))
    #expect(machine.attempt(try from(1, browser: [7]), at: start) != .verify)
    #expect(try attempt(&machine, 21, at: start) != .verify)
  }

  @Test("However many names and addresses come, a known name's failures stay")
  func floods() throws {
    var machine = SignInGuard()
    for number in 0..<5 { _ = try attempt(&machine, number, at: start) }
    var now = start
    for number in 0..<(SignInGuard.maximumUnknownNames + 100) {
      now = now + .milliseconds(1)
      let name = [UInt8(2), UInt8(number >> 8), UInt8(number & 255)]
      let unknown = try from(number, name, isKnown: false)
      if machine.attempt(unknown, at: now) == .verify { machine.withdrawn(unknown, at: now) }
    }
    #expect(try attempt(&machine, 6_000, at: now) != .verify)
  }
}
