// The judgement of a proof: accepted with a level and facts, or refused for one reason.

/// Who vouches for a key's protection, from least to most.
package enum AttestationLevel: Int, Sendable, Hashable, Comparable, CaseIterable {
  case none
  /// The key itself, or software.
  case selfAttested
  /// A genuine, unmodified app on a genuine Apple device.
  case app
  /// Android's trusted execution environment, or an authenticator whose certificates lead to a trusted root.
  case tee
  /// A separate security chip.
  case strongbox

  package var name: String {
    switch self {
    case .none: "none"
    case .selfAttested: "self"
    case .app: "app"
    case .tee: "tee"
    case .strongbox: "strongbox"
    }
  }

  package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// One thing that a proof says, for reports.
package struct ProofFact: Sendable, Hashable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// Why a proof is not accepted.
package struct ProofError: Error, Hashable {
  package let reason: Reason
  /// For the operator: which part, and what is wrong with it.
  package let detail: String

  package init(_ reason: Reason, _ detail: String) {
    self.reason = reason
    self.detail = detail
  }

  /// docs/ATTESTATION.md explains each.
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    // The bytes cannot be read.
    case malformedCBOR = "MALFORMED_CBOR"
    case malformedAuthenticatorData = "MALFORMED_AUTHENTICATOR_DATA"
    case malformedClientData = "MALFORMED_CLIENT_DATA"
    case malformedCertificate = "MALFORMED_CERTIFICATE"
    case malformedKey = "MALFORMED_KEY"
    case malformedStatement = "MALFORMED_STATEMENT"
    case malformedKeyDescription = "MALFORMED_KEY_DESCRIPTION"

    // They are sound, and this version cannot judge them.
    case unsupportedFormat = "UNSUPPORTED_FORMAT"
    case unsupportedAlgorithm = "UNSUPPORTED_ALGORITHM"

    // The certificates.
    case chainIncomplete = "CHAIN_INCOMPLETE"
    case chainBroken = "CHAIN_BROKEN"
    case rootUnknown = "ROOT_UNKNOWN"
    case certificateExpired = "CERTIFICATE_EXPIRED"
    case certificateNotYetValid = "CERTIFICATE_NOT_YET_VALID"
    case certificateRevoked = "CERTIFICATE_REVOKED"
    case certificateUnsuitable = "CERTIFICATE_UNSUITABLE"
    case extensionInIntermediate = "EXTENSION_IN_INTERMEDIATE"
    case extensionMissing = "EXTENSION_MISSING"

    // The statement is about something else.
    case challengeDiffers = "CHALLENGE_DIFFERS"
    case keyDiffers = "KEY_DIFFERS"
    case applicationDiffers = "APPLICATION_DIFFERS"
    case environmentDiffers = "ENVIRONMENT_DIFFERS"
    case originDiffers = "ORIGIN_DIFFERS"
    case crossOrigin = "CROSS_ORIGIN"
    case typeDiffers = "TYPE_DIFFERS"
    case authenticatorDiffers = "AUTHENTICATOR_DIFFERS"
    case algorithmDiffers = "ALGORITHM_DIFFERS"

    // It says what may not be.
    case counterNotZero = "COUNTER_NOT_ZERO"
    case counterNotGrown = "COUNTER_NOT_GROWN"
    case signatureInvalid = "SIGNATURE_INVALID"
    case userNotPresent = "USER_NOT_PRESENT"
    case userNotVerified = "USER_NOT_VERIFIED"
    case backupFlagsContradict = "BACKUP_FLAGS_CONTRADICT"
    case keyUnprotected = "KEY_UNPROTECTED"

    // It is sound, and the application demands more.
    case attestationRequired = "ATTESTATION_REQUIRED"
    case levelTooLow = "LEVEL_TOO_LOW"
    case bootNotVerified = "BOOT_NOT_VERIFIED"
    case bootloaderUnlocked = "BOOTLOADER_UNLOCKED"
    case patchLevelTooOld = "PATCH_LEVEL_TOO_OLD"
    case packageDiffers = "PACKAGE_DIFFERS"
    case signerDiffers = "SIGNER_DIFFERS"
    case passkeysNotServed = "PASSKEYS_NOT_SERVED"
    case keyNotDeviceBound = "KEY_NOT_DEVICE_BOUND"
    case authenticatorNotAllowed = "AUTHENTICATOR_NOT_ALLOWED"
    case authenticatorRevoked = "AUTHENTICATOR_REVOKED"

    /// The bytes cannot be read.
    package var isMalformed: Bool {
      switch self {
      case .malformedCBOR, .malformedAuthenticatorData, .malformedClientData, .malformedCertificate, .malformedKey,
        .malformedStatement, .malformedKeyDescription:
        true
      default: false
      }
    }

    /// The proof may be right: this version does not know its format or algorithm.
    package var isUnsupported: Bool { self == .unsupportedFormat || self == .unsupportedAlgorithm }
  }
}

/// Whether a proof may break a rule of its encoding, if it has one meaning all the same.
package enum ProofEncoding: String, Sendable, Hashable, CaseIterable {
  case strict
  /// As other verifiers read it: a boolean of Android's key description that is neither 00 nor FF is true, and bytes
  /// after an App Attest object are ignored.
  case tolerant
}

/// Compares without telling by its time where the first difference is. Lengths are not secret.
func areEqual(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
  guard one.count == other.count else { return false }
  return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
}
