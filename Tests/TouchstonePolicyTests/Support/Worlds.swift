// Every combination of a few phones, bindings, devices and policies: for what must hold in all of them.

import TouchstonePolicy

struct World: Sendable, CustomStringConvertible {
  let words: [String]
  let posture: DevicePosture
  let binding: BindingStanding
  let device: BiometryStanding
  let policy: EvaluationPolicy

  var description: String { words.joined(separator: " | ") }
}

enum Worlds {
  static let phones = [
    "9.3", "7.1", "8.4", "9.3 locked no-state", "9.3 no-passcode", "9.3 no-fingers no-state",
    "10.0 state=B", "android",
  ]
  static let bindings = ["set", "any presence", "set passcode", "set no-base", "touch-id", "keyless"]
  static let devices = ["0", "4", "5!"]
  static let policies = ["bio", "apple", "login", "payment", "owner", "set-only", "strict", "secrets"]

  static let all: [World] = phones.flatMap { phone in
    bindings.flatMap { binding in
      devices.flatMap { device in
        policies.map { policy in
          World(
            words: [phone, binding, device, policy], posture: DevicePosture(table: phone),
            binding: BindingStanding(table: binding)!, device: BiometryStanding(table: device),
            policy: EvaluationPolicy(table: policy))
        }
      }
    }
  }
}
