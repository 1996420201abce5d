// Phones whose bindings were written into the store beforehand (Tests/Benchmarks/size.py), more than could be bound by
// calls.

internal import Encodings
internal import SimulatedPhone

/// A few keys stand for those of all phones: what differs between two phones' keys costs a service nothing.
struct SeededPhones: Sendable {
  private static let keyCount = 64
  /// Any will do, and the same one at each run.
  private static let keySeed: UInt64 = 0x7463_6873_7365_6564

  private let keys: [SoftwareKey]
  /// How many bindings there are, numbered from 0.
  private let count: Int

  init(count: Int) {
    self.count = count
    var generator = PhoneRandomness(seed: Self.keySeed)
    keys = (0..<Self.keyCount).map { _ in SoftwareKey(using: &generator) }
  }

  /// For a seeding script: a line for each, X9.63 in hexadecimal. The binding with a number has the key with that
  /// number's rest.
  var publicKeys: [String] {
    keys.map { Hexadecimal.text(Array($0.publicKeyX963)) }
  }

  func random() -> LoadPhone {
    let number = Int.random(in: 0..<count)
    return LoadPhone(key: .p256(keys[number % keys.count]), bindingID: Self.bindingID(number), profileID: nil)
  }

  /// As random as the service's own, and of their length.
  private static func bindingID(_ number: Int) -> String {
    var generator = PhoneRandomness(seed: UInt64(number))
    let digits = String(generator.next(), radix: 16)
    return "seeded" + String(repeating: "0", count: 16 - digits.count) + digits
  }
}
