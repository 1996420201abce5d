// Which keys a service has, where several processes start at once.

internal import Testing
internal import TouchstoneStore

extension StoreConformance {
  static let keyCheckChecks: [SharedCheck] = [
    SharedCheck(name: "of first starts at once one gives the key check, and all know it") { stores in
      let answers = try await withThrowingTaskGroup(of: [UInt8].self) { group in
        for number in 0..<20 {
          group.addTask { try await stores[number % stores.count].keyCheck(initially: [UInt8(number)]) }
        }
        return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
      }
      #expect(answers.count == 1)
    }
  ]
}
