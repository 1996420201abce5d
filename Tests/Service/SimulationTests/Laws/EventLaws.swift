// The permitted contents of an event: known words, names and numbers, and nothing else (R41).

import Encodings
import TouchstoneCodec
import TouchstonePolicy
import TouchstoneStore

enum EventLaws {
  private static let kinds: Set<String> = [
    "evaluation.denied", "evaluation.succeeded", "evaluation.failed", "evaluation.locked_out", "evaluation.canceled",
    "evaluation.fallback", "evaluation.factor_required", "evaluation.refused", "evaluation.invalidated",
    "binding.denied", "binding.refused", "binding.created", "binding.revoked", "binding.domain_state_accepted",
    "secret.set", "secret.removed", "secret.unlocked", "secret.refused", "settings.changed", "token.consumed",
    "token.refused", "token.revoked", "device.unlocked", "device.refused", "device.shared", "profile.refused",
  ]
  private static let factors: Set<String> = ["biometry", "device_owner", "passcode", "gesture", "passkey", "primary"]
  private static let authorities: Set<String> = ["old_secret", "primary", "token", "settings"]

  static func check(_ event: EventDraft, with changeSet: ChangeSet, causes: [Call], _ world: World) {
    world.require(kinds.contains(event.kind), "R41", "an event of kind \(event.kind)")
    world.require(event.caller == "local", "R41", "an event of caller \(event.caller)")
    for id in [event.applicationID, event.profileID, event.deviceID, event.bindingID] where !id.isEmpty {
      let isKnown = world.ledger.isKnown(name: id) || causes.contains { $0.isGarbled && $0.mentions(id) }
      world.require(isKnown, "R41", "an event of \(event.kind) names \(id)")
    }
    for detail in event.details {
      world.require(
        isHarmless(detail, changeSet, causes, world) || causes.contains { $0.isGarbled && $0.explains(detail) }, "R41",
        "an event of \(event.kind) says \(detail.key)=\(detail.value)")
    }
  }

  private static func isHarmless(
    _ detail: EventDetail, _ changeSet: ChangeSet, _ causes: [Call], _ world: World
  ) -> Bool {
    switch detail.key {
    case "policy": detail.value.isEmpty || world.plan.policies.contains { $0.name == detail.value }
    case "factor", "preferred": factors.contains(detail.value)
    case "biometry", "gesture", "passcode": detail.value == "on" || detail.value == "off"
    case "authority", "evidence": authorities.contains(detail.value)
    case "app_assertion": detail.value == "verified"
    case "attestation": detail.value == "app"
    case "counted": detail.value == "yes" || detail.value == "no"
    case "reason": isWord(detail.value)
    case "stated_reason": detail.value == Names.reason
    case "signature_form": detail.value == "base64url_text" && causes.contains(where: \.signsText)
    case "la_error": Int32(detail.value) != nil
    case "transaction": People.transactionDigests.contains(detail.value)
    case "token_id": world.ledger.isTokenID(detail.value) || changeSet.puts(tokenID: detail.value)
    default: false
    }
  }

  /// "TOO_MANY_BINDINGS".
  private static func isWord(_ text: String) -> Bool {
    let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
    return text.utf8.allSatisfy { letters.contains($0) || $0 == UInt8(ascii: "_") }
  }
}

extension ChangeSet {
  /// The token is issued, used or revoked with the event.
  fileprivate func puts(tokenID: String) -> Bool {
    changes.contains { change in
      guard case .putToken(let record) = change else { return false }
      return Base64URL.encode(record.key.id.bytes) == tokenID
    }
  }
}

extension Call {
  /// Garbled bytes may request a payment that no person intended.
  fileprivate func explains(_ detail: EventDetail) -> Bool {
    let transaction = (request as? V1.BeginEvaluationRequest)?.transaction
    return mentions(detail.value) || transaction.map { People.digest(of: $0) == detail.value } == true
  }

  fileprivate var signsText: Bool {
    switch request {
    case let request as V1.CompleteBindingRequest: request.keys.contains { $0.signatureForm == .base64URLText }
    case let request as V1.SubmitAttemptRequest:
      if case .key(let proof) = request.attempt { proof.signatureForm == .base64URLText } else { false }
    default: false
    }
  }

  fileprivate func mentions(_ text: String) -> Bool {
    let text = Array(text.utf8)
    return message.indices.contains { message[$0...].starts(with: text) }
  }
}
