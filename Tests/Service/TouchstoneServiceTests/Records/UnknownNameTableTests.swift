import Testing
import TouchstonePolicy
import TouchstoneStore

@testable import TouchstoneService

/// R37: the counts at unknown names are bounded, and a flood of names evicts its own caller's counts first.
struct UnknownNameTableTests {
  private var table = UnknownNameTable(maximum: 4)

  private func name(_ number: UInt8) -> UniqueID { UniqueID(bytes: [number] + Array(repeating: 0, count: 15))! }

  private func failures(_ count: UInt32) -> SecretStanding { SecretStanding(isSet: true, failures: count) }

  private mutating func count(_ failures: UInt32, at number: UInt8, by caller: String) {
    table.set(self.failures(failures), of: .passcode, at: name(number), by: caller)
  }

  private var known: [UInt8] { (0...20).filter { table[name($0)] != UnknownNameTable.Counts() } }

  @Test mutating func eachKindCountsForItself() {
    count(3, at: 1, by: "shop")
    table.set(failures(1), of: .gesture, at: name(1), by: "shop")
    #expect(table[name(1)][.passcode] == failures(3) && table[name(1)][.gesture] == failures(1))
    #expect(table[name(2)][.passcode] == nil)
    #expect(table.count == 1)
  }

  @Test mutating func theCallerWithMostNamesLosesItsOldest() {
    count(4, at: 1, by: "bank")
    for number: UInt8 in 2...4 { count(1, at: number, by: "flood") }
    count(1, at: 5, by: "flood")
    #expect(known == [1, 3, 4, 5])
    // Another caller's new name costs the flood a name, too.
    count(1, at: 6, by: "shop")
    #expect(known == [1, 4, 5, 6])
  }

  @Test mutating func aNameThatIsCountedAgainIsNotTheOldest() {
    for number: UInt8 in 1...4 { count(1, at: number, by: "flood") }
    count(2, at: 1, by: "flood")
    count(1, at: 5, by: "flood")
    #expect(known == [1, 3, 4, 5])
    #expect(table[name(1)][.passcode] == failures(2))
  }

  /// The first caller of a name keeps it, so another one cannot make it older or younger for itself.
  @Test mutating func guessesOfAnotherCallerCountOnAndMoveNoName() {
    count(1, at: 1, by: "bank")
    for number: UInt8 in 2...4 { count(1, at: number, by: "flood") }
    count(2, at: 1, by: "flood")
    for number: UInt8 in 5...20 { count(1, at: number, by: "flood") }
    #expect(known == [1, 18, 19, 20])
    #expect(table[name(1)][.passcode] == failures(2))
  }

  @Test mutating func itStaysBoundedHoweverOftenOneNameIsCounted() {
    for round in 0..<1_000 { count(UInt32(round % 5), at: UInt8(round % 7), by: "caller \(round % 3)") }
    #expect(table.count == 4)
    #expect(table.placeCount <= 3 * (2 * 4 + 16))
  }
}
