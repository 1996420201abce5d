// Every combination of a few phones, bindings, devices and policies, with profiles and evaluations dealt out among
// them: for what must hold in all of them.

import TouchstonePolicy

struct World: Sendable, CustomStringConvertible {
  let words: [String]
  let posture: DevicePosture
  let binding: BindingStanding
  let device: BiometryStanding
  let profile: ProfileStanding
  let evaluation: EvaluationStanding
  let policy: EvaluationPolicy

  var description: String { words.joined(separator: " | ") }

  var facts: AdmissionFacts {
    AdmissionFacts(
      posture: posture, binding: binding, device: device, profile: profile, evaluation: evaluation, now: .noon)
  }
}

enum Worlds {
  static let phones = [
    "9.3", "7.1", "8.4", "9.3 locked no-state", "9.3 no-passcode", "9.3 no-fingers no-state",
    "10.0 state=B", "android",
  ]
  static let bindings = [
    "set", "any presence", "set passcode", "set no-base", "touch-id", "keyless", "absent", "bearer",
  ]
  static let devices = ["0", "4", "5!"]
  static let policies = [
    "bio", "apple", "login", "payment", "owner", "set-only", "strict", "secrets", "falling-after-two", "all",
  ]
  static let evaluations = ["0", "2", "3+2", "0", "1.", "0"]
  /// As many as are coprime to the numbers of the others: so each comes beside each of them.
  static let profiles = [
    "-", "passcode", "passcode=4 gesture=9", "passcode=5!60 gesture", "passcode biometry-off",
    "gesture=10! passcode=5!60~1",
    "passcode gesture prefers-gesture",
  ]

  static let all: [World] = combinations.enumerated().map { index, words in
    let profile = profiles[index % profiles.count]
    let evaluation = evaluations[index / profiles.count % evaluations.count]
    return World(
      words: words + [profile, evaluation], posture: DevicePosture(words: words[0]),
      binding: BindingStanding(words: words[1]),
      device: BiometryStanding(words: words[2]), profile: ProfileStanding(words: profile),
      evaluation: EvaluationStanding(words: evaluation),
      policy: EvaluationPolicy(words: words[3]))
  }

  /// Some of them, of every kind: for what costs more to try.
  static let sample = stride(from: 0, to: all.count, by: 11).map { all[$0] }

  private static let combinations: [[String]] = phones.flatMap { phone in
    bindings.flatMap { binding in devices.flatMap { device in policies.map { [phone, binding, device, $0] } } }
  }
}
