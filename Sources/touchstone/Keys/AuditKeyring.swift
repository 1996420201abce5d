// The audit keys of this process, as a store and the verification of its log use them.

internal import Synchronization
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneStore

/// Those that were loaded last.
final class AuditKeyring: Sendable {
  private let keys: Mutex<AuditKeys?>

  init(_ keys: AuditKeys?) {
    self.keys = Mutex(keys)
  }

  func replace(_ keys: AuditKeys?) {
    self.keys.withLock { $0 = keys }
  }

  var accountKeys: AccountKeys {
    AccountKeys { [self] message, time in
      let signed = keys.withLock { $0 }?.sign(message, at: time.seconds)
      return signed.flatMap { AccountSignature(keyID: $0.keyID, bytes: $0.signature) }
    } check: { [self] signature, message in
      check(signature, message)
    }
  }

  /// For a reading of the whole log. Without keys it finds what lacks a signature, and no forged one.
  var review: AccountReview {
    guard keys.withLock({ $0 != nil }) else { return .strict(nil) }
    return .strict { [self] in check($0, $1) }
  }

  private func check(_ signature: AccountSignature, _ message: [UInt8]) -> AccountKeys.Finding {
    guard let keys = keys.withLock({ $0 }) else { return .unknownKey }
    return AccountKeys.Finding(keys.check(signature.bytes, by: signature.keyID, of: message))
  }
}

extension AccountReview {
  /// By public halves alone.
  static func strict(_ verifier: AuditVerifier) -> AccountReview {
    .strict { signature, message in
      AccountKeys.Finding(verifier.check(signature.bytes, by: signature.keyID, of: message))
    }
  }
}

extension AccountKeys.Finding {
  fileprivate init(_ finding: AuditVerifier.Finding) {
    self =
      switch finding {
      case .valid: .valid
      case .forged: .forged
      case .unknownKey: .unknownKey
      }
  }
}
