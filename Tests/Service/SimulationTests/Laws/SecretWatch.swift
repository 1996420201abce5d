// Every verification of a secret was counted before it, durably, and no admission serves twice (R14).

import TouchstonePolicy
import TouchstoneStore

/// `context`: the secret's name, as the service gives it to the hasher.
final class SecretWatch {
  private(set) var verificationCount = 0
  private unowned let world: World
  /// Admitted by one process and not verified yet.
  private var admissions: [Admission: Int] = [:]

  private struct Admission: Hashable {
    var life: ObjectIdentifier
    var name: [UInt8]
  }

  init(world: World) { self.world = world }

  /// A failure was committed, and its process was told so.
  func admit(_ profile: ProfileRecord, _ kind: Factor, in life: Life) {
    admissions[Admission(life: ObjectIdentifier(life), name: Self.name(profile, kind)), default: 0] += 1
  }

  /// - Parameter isDummy: no profile's secret is verified, and its failure may count at the name, in memory (R37).
  func verify(_ name: [UInt8], isDummy: Bool, in life: Life) {
    verificationCount += 1
    let admission = Admission(life: ObjectIdentifier(life), name: name)
    let left = admissions[admission] ?? 0
    guard left > 0 || !isDummy else { return }
    world.require(left > 0, "R14", "a secret is verified before its failure is durable")
    admissions[admission] = left - 1
  }

  private static func name(_ profile: ProfileRecord, _ kind: Factor) -> [UInt8] {
    [profile.applicationID, profile.profileID].flatMap { text in
      let bytes = Array(text.utf8)
      return withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) } + bytes
    } + [kind.rawValue]
  }
}
