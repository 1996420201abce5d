// The domain state in its form of iOS 18 (LADomainState.h).

public import Foundation

/// The enrolled biometrics and the paired companions, as opaque bytes; read from `LAContext.domainState`.
public final class LADomainState: NSObject, Sendable {
  public let biometry: LADomainStateBiometry
  public let companion = LADomainStateCompanion()

  /// The state of biometry and companions together; without companions, equal to `biometry.stateHash`.
  public var stateHash: Data? { biometry.stateHash }

  init(biometryType: LABiometryType, stateHash: Data?) {
    biometry = LADomainStateBiometry(biometryType: biometryType, stateHash: stateHash)
  }
}

public final class LADomainStateBiometry: NSObject, Sendable {
  public let biometryType: LABiometryType
  /// As `evaluatedPolicyDomainState`: `nil` if nothing is enrolled, and while the sensor is locked.
  public let stateHash: Data?

  init(biometryType: LABiometryType, stateHash: Data?) {
    self.biometryType = biometryType
    self.stateHash = stateHash
  }
}

/// The simulated phone has no companions.
public final class LADomainStateCompanion: NSObject, Sendable {
  public var availableCompanionTypes: Set<LACompanionType> { [] }
  public var stateHash: Data? { nil }

  public func stateHash(for companionType: LACompanionType) -> Data? { nil }

  override init() {}
}
