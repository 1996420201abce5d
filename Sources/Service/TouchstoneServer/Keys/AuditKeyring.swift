// The audit keys of this process, for the store and the verification of its log.

internal import Synchronization
package import TouchstoneCrypto
package import TouchstonePolicy
package import TouchstoneStore

/// The audit keys that were loaded last.
package final class AuditKeyring: Sendable {
  private let keys: Mutex<AuditKeys?>

  package init(_ keys: AuditKeys?) {
    self.keys = Mutex(keys)
  }

  func replace(_ keys: AuditKeys?) {
    self.keys.withLock { $0 = keys }
  }

  package var accountKeys: AccountKeys {
    AccountKeys { [self] message, time in
      let signed = keys.withLock { $0 }?.sign(message, at: time.seconds)
      return signed.flatMap { AccountSignature(keyID: $0.keyID, bytes: $0.signature) }
    } check: { [self] signature, message in
      check(signature, message)
    }
  }

  var current: AuditKeys? { keys.withLock { $0 } }

  /// Whether accounts are signed at that time. A first key may be active only later.
  package func signs(at time: UnixTime) -> Bool { accountKeys.sign([], time) != nil }

  /// For a reading of the whole log. Without keys it finds missing signatures, but no forged ones.
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
  /// Verifies with public halves only.
  package static func strict(_ verifier: AuditVerifier, signedFrom: SignedFrom) -> AccountReview {
    .strict(
      { signature, message in
        AccountKeys.Finding(verifier.check(signature.bytes, by: signature.keyID, of: message))
      }, signedFrom: signedFrom)
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
