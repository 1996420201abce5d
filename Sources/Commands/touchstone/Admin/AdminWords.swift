// The API's enumerations in words for people.

internal import TouchstoneCodec

extension OpenEnum {
  /// - Parameter words: of the known values, from 1 on.
  func word(_ words: String...) -> String {
    switch rawValue {
    case 0: "-"
    case 1...Int32(words.count): words[Int(rawValue) - 1]
    default: "unknown (\(rawValue))"
    }
  }
}

extension V1.BindingState {
  var word: String { word("active", "revoked") }
}

extension V1.CredentialKind {
  var word: String { word("key", "ProfileTouchID", "passkey") }
}

extension V1.KeyProtection {
  var word: String { word("biometry-current-set", "biometry-any", "user-presence", "device-passcode") }
}

extension V1.KeyAlgorithm {
  var word: String { word("P-256", "P-256+ML-DSA-65", "RSA") }
}

extension V1.AttestationLevel {
  var word: String { word("none", "self", "app", "TEE", "StrongBox") }
}

extension V1.FoundBy {
  var word: String { word("profile", "binding", "device", "credential", "prefix") }
}

extension V1.BiometryType {
  var word: String { word("none", "Touch ID", "Face ID", "Optic ID", "voice") }
}

extension V1.SecretKind {
  var word: String { word("passcode", "gesture") }
}

extension GRPCHealth.CheckResponse.ServingStatus {
  var word: String { word("serving", "not serving", "unknown") }
}

extension Bool {
  var yesOrNo: String { self ? "yes" : "no" }
  var onOrOff: String { self ? "on" : "off" }
}
