// The kit decides all vectors of Tests/Vectors/kit as the kits for other platforms do.

import Crypto
import Foundation
import SimulatedPhone
import Testing
import TouchstoneKit

@testable import TouchstoneAttestation
@testable import TouchstoneKitCore

/// One case, as its file has it.
struct Vector {
  typealias Fields = [String: Any]

  let fields: Fields

  var name: String { fields.text("name") ?? "?" }
  var expected: Fields { fields["expect"] as? Fields ?? [:] }

  static func all(_ group: String) throws -> [Vector] {
    let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../../Tests/Vectors/kit/\(group).json")
    let content = try JSONSerialization.jsonObject(with: Data(contentsOf: file.standardizedFileURL)) as? Fields
    let cases = content?["cases"] as? [Fields] ?? []
    try #require(!cases.isEmpty)
    return cases.map(Vector.init)
  }

  /// Compares what the kit decides with `expect`, or its refusal's code with `refused`.
  func expect(_ decide: () throws -> Fields) {
    do {
      let decided = try decide()
      #expect(NSDictionary(dictionary: decided) == NSDictionary(dictionary: expected), "\(name)")
    } catch {
      #expect((error as? Refusal)?.code == fields.text("refused"), "\(name): \(error)")
    }
  }
}

extension Vector.Fields {
  func text(_ key: String) -> String? { self[key] as? String }
  func number(_ key: String) -> Int? { (self[key] as? NSNumber)?.intValue }
  func flag(_ key: String) -> Bool { (self[key] as? NSNumber)?.boolValue ?? false }

  func bytes(_ key: String) -> Data? {
    text(key).map { text in
      let digits = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
      return Data(base64Encoded: digits + String(repeating: "=", count: (4 - digits.count % 4) % 4)) ?? Data()
    }
  }

  func payment(_ key: String) throws -> Payment? {
    try self[key].map { try JSONDecoder().decode(Payment.self, from: JSONSerialization.data(withJSONObject: $0)) }
  }

  /// The kit's message from the API's names in small letters.
  func message<Message: Decodable>(_ type: Message.Type) throws -> Message {
    func camelCased(_ value: Any) -> Any {
      guard let fields = value as? Vector.Fields else { return value }
      return fields.reduce(into: Vector.Fields()) { result, field in
        let words = field.key.split(separator: "_").map(String.init)
        let isDuration = field.key == "retry_after"
        result[words[0] + words.dropFirst().map(\.capitalized).joined()] =
          isDuration
          ? "\(field.value)s" : field.key == "la_error" ? Self.errorName(field.value) : camelCased(field.value)
      }
    }
    return try JSONDecoder().decode(type, from: JSONSerialization.data(withJSONObject: camelCased(self)))
  }

  /// As the service's JSON has it. Codes that the kit does not tell apart stay numbers.
  private static func errorName(_ code: Any) -> Any {
    [
      -1: "LA_ERROR_AUTHENTICATION_FAILED", -5: "LA_ERROR_PASSCODE_NOT_SET", -6: "LA_ERROR_BIOMETRY_NOT_AVAILABLE",
      -7: "LA_ERROR_BIOMETRY_NOT_ENROLLED", -8: "LA_ERROR_BIOMETRY_LOCKOUT",
    ][(code as? NSNumber)?.intValue ?? 0] ?? code
  }
}

extension Data {
  var base64URL: String {
    base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
      .replacingOccurrences(of: "=", with: "")
  }
}

@Suite("The kits' vectors")
struct VectorTests {
  @Test("Signing inputs are taken apart, or refused by their first fault")
  func signingInputs() throws {
    for vector in try Vector.all("signing_inputs") {
      let given = vector.fields
      let bytes = try #require(given.bytes("signing_input"))
      vector.expect {
        let own = given.text("application_id") ?? ""
        if given.text("kind") == "binding" {
          let input = try SigningInput.ofBinding(
            bytes, application: own, profile: given.text("profile_id"), device: given.text("device_id") ?? "",
            challenge: given.bytes("challenge"))
          return [
            "challenge": input.challenge.base64URL, "application_id": input.application,
            "profile_id": input.profile ?? "", "device_id": input.device ?? "",
          ]
        }
        let input = try SigningInput.ofEvaluation(
          bytes, application: own, binding: given.text("binding_id") ?? "", policy: given.text("policy") ?? "",
          shown: try given.payment("shown"), challenge: given.bytes("challenge"))
        var fields: Vector.Fields = [
          "challenge": input.challenge.base64URL, "application_id": input.application,
          "binding_id": input.binding ?? "", "policy": input.policy ?? "",
          "purpose": input.payment == nil ? "login" : "payment",
        ]
        if let payment = input.payment {
          fields["transaction"] = [
            "amount": payment.amount, "currency": payment.currency, "payee": payment.payee,
            "reference": payment.reference,
          ]
          fields["transaction_sha256"] = Data(SHA256.hash(data: payment.bytes)).base64URL
        }
        return fields
      }
    }
  }

  @Test("Public keys, in every form that a wrapper returns")
  func keys() throws {
    for vector in try Vector.all("keys") {
      let bytes = try #require(vector.fields.bytes("key"))
      vector.expect {
        let key = try TouchstoneKitCore.PublicKey(bytes)
        var fields: Vector.Fields = ["algorithm": key.bits == nil ? "P256" : "RSA", "form": key.form.rawValue]
        if let x963 = key.x963 { fields["x963"] = x963.base64URL }
        if let bits = key.bits { fields["bits"] = bits }
        if let spki = key.spki { fields["spki"] = spki.base64URL }
        return fields
      }
    }
  }

  /// The kit knows the forms. No phone verifies a signature: OpenSSL does here.
  @Test("Signatures, in every form that a wrapper returns")
  func signatures() throws {
    for vector in try Vector.all("signatures") {
      let given = vector.fields
      let bytes = try #require(given.bytes("signing_input"))
      let spki = try #require(given.bytes("key"))
      let signature = try #require(given.bytes("signature"))
      vector.expect {
        let key = try TouchstoneKitCore.PublicKey(spki)
        let read = try key.signature(signature)
        let signed = given.text("form") == "RAW" ? bytes : Data(bytes.base64URL.utf8)
        let verifier = try TouchstoneAttestation.PublicKey(subjectPublicKeyInfo: Array(spki))
        do {
          try verifier.verify(
            key.bits == nil ? SoftwareKey.der(Array(read)) : Array(read), of: Array(signed),
            key.bits == nil ? .ecdsa(.sha256) : .rsa(.sha256), vector.name)
        } catch {
          throw Refusal("wrong-signature")
        }
        return key.bits == nil ? ["valid": true, "raw": read.base64URL] : ["valid": true]
      }
    }
  }

  @Test("Postures, from each platform's answers")
  func postures() throws {
    let types = ["UNSPECIFIED", "NONE", "TOUCH_ID", "FACE_ID", "OPTIC_ID"]
    for vector in try Vector.all("postures") {
      let given = vector.fields
      vector.expect {
        let platform = given.text("platform") ?? ""
        var posture = try Posture(
          platform: platform, osVersion: given.text("system_version") ?? "", deviceModel: given.text("model") ?? "")
        switch platform {
        case "android":
          posture.read(
            canAuthenticate: given.number("can_authenticate") ?? -1, isDeviceSecure: given.flag("device_secure"),
            isLockedOut: given.flag("locked_out"))
        case "web": posture.read(isUserVerifying: given.flag("user_verifying"))
        default:
          try posture.read(
            type: given.number("biometry_type") ?? 0, biometricsError: given.number("biometrics_error"),
            deviceOwnerError: given.number("device_owner_error"), domainState: given.bytes("domain_state"))
        }
        return [
          "platform": posture.platform, "os_version": posture.osVersion, "device_model": posture.deviceModel,
          "biometry_type": "BIOMETRY_TYPE_\(types[posture.biometryType])",
          "biometry_available": posture.biometryAvailable, "biometry_enrolled": posture.biometryEnrolled,
          "biometry_locked_out": posture.biometryLockedOut, "passcode_set": posture.passcodeSet,
          "domain_state": posture.domainState.base64URL,
        ]
      }
    }
  }

  @Test("Errors of each platform")
  func errors() throws {
    for vector in try Vector.all("errors") {
      let given = vector.fields
      let code = given.number("code") ?? 0
      let isClosedByApp = given.flag("closed_by_app")
      vector.expect {
        let answer: PhoneAnswer
        switch given.text("platform") {
        case "ios-la-error": answer = .ofLAError(code, isClosedByApp: isClosedByApp)
        case "ios-os-status": answer = .ofStatus(code)
        case "ios-token": answer = .ofToken(code)
        case "android-prompt":
          answer = .ofBiometricPrompt(code, isFallback: given.flag("fallback_button"), isClosedByApp: isClosedByApp)
        default: answer = .ofAndroid(given.text("callback") ?? given.text("exception") ?? "")
        }
        return ["send": answer.send.map { $0 as Any } ?? NSNull(), "means": answer.means.rawValue]
      }
    }
  }

  @Test("Next steps, for each answer of the service")
  func nextSteps() throws {
    for vector in try Vector.all("next_steps") {
      let answer = vector.fields["answer"] as? Vector.Fields ?? [:]
      let factor = Factor(answer.text("factor") ?? "")
      let languages = vector.fields.text("languages") ?? "en"
      vector.expect {
        let step: NextStep
        switch vector.fields.text("at") {
        case "begin": step = NextStep(begun: try answer.message(Evaluation.self), in: languages)
        case "submit":
          step = NextStep(
            answer: try answer.message(Answer.self), to: factor, isKeyGone: answer.flag("key_gone"), in: languages)
        case "bind": step = NextStep(bound: try answer.message(BoundPhone.self))
        case "prompt":
          let means = try #require(PhoneAnswer.Meaning(rawValue: answer.text("means") ?? ""))
          step = NextStep(
            prompt: means, for: factor, again: answer.flag("again"),
            next: (answer["next_factors"] as? [String] ?? []).map { Factor($0) })
        case "failed":
          step = NextStep(
            failure: CallFailure(
              status: answer.text("status") ?? "", reason: answer.text("reason") ?? "",
              retryAfter: answer["retry_after"].map { "\($0)s" }))
        default: step = NextStep(refusal: Refusal(answer.text("code") ?? ""))
        }
        var fields: Vector.Fields = ["step": step.kind.name]
        if let factor = step.factor { fields["factor"] = factor.name }
        if let seconds = step.seconds { fields["seconds"] = seconds }
        if !step.notices.isEmpty { fields["notices"] = step.notices }
        if let message = step.message { fields["message"] = message }
        return fields
      }
    }
  }

  @Test("The service's language, by the phone's languages")
  func languages() throws {
    for vector in try Vector.all("languages") {
      vector.expect { ["language": Language.served(vector.fields.text("languages") ?? "").rawValue] }
    }
  }

  @Test("Texts of a backend, by what a person sees of them")
  func texts() throws {
    for vector in try Vector.all("texts") {
      let most = try #require(vector.fields.number("maximum_bytes"))
      let text = vector.fields.text("text")
      vector.expect { ["shown": text.legible(upTo: most) != nil] }
      var presentation = Presentation()
      (presentation.localizedReason, presentation.fallbackTitle, presentation.cancelTitle) = (text, text, text)
      let titles = presentation.legible
      switch vector.fields.text("field") {
      case "localized_reason": vector.expect { ["shown": titles.localizedReason != nil] }
      case "fallback_title": vector.expect { ["shown": titles.fallbackTitle != nil] }
      case "cancel_title": vector.expect { ["shown": titles.cancelTitle != nil] }
      default: break
      }
    }
  }

  @Test("For how long an evaluation is relied on, whatever the phone's clock says")
  func lifetimes() throws {
    for vector in try Vector.all("lifetimes") {
      vector.expect {
        [
          "seconds": Evaluation.lifetime(
            until: Double(vector.fields.number("expires_at") ?? 0), at: Double(vector.fields.number("phone_time") ?? 0))
        ]
      }
    }
  }

  @Test("States, from what is kept and found")
  func states() throws {
    func factors(_ names: Any?) -> Set<Factor> {
      Set((names as? [String] ?? []).map { $0 == "biometry" ? .biometry : .deviceOwner })
    }
    for vector in try Vector.all("states") {
      let given = vector.fields
      vector.expect {
        let kept = (given["kept"] as? Vector.Fields).map { kept in
          PhoneState.Kept(
            profile: kept.text("profile_id"), installation: kept.text("installation") ?? "", made: factors(kept["made"])
          )
        }
        let found = factors(given["found"])
        let state = PhoneState(
          kept: kept, installation: given.text("installation"), found: found, profile: given.text("profile_id"))
        let forgotten = [
          ("binding", state.forgetsBinding), ("keys", state.forgetsKeys && !(found.isEmpty && kept == nil)),
        ]
        return ["status": state.rawValue, "forget": forgotten.filter(\.1).map(\.0)]
      }
    }
  }
}
