// The domain state in its form of iOS 18 (LADomainState.h).

public import Foundation

/// Who is enrolled and who is paired, as opaque bytes; read from `LAContext.domainState`.
public final class LADomainState: NSObject, Sendable {
  public let biometry: LADomainStateBiometry
  public let companion = LADomainStateCompanion()

  /// Of biometry and companions together; there being none of these, as `biometry.stateHash`.
  public var stateHash: Data? { biometry.stateHash }

  init(biometryType: LABiometryType, stateHash: Data?) {
    biometry = LADomainStateBiometry(biometryType: biometryType, stateHash: stateHash)
  }
}

public final class LADomainStateBiometry: NSObject, Sendable {
  public let biometryType: LABiometryType
  /// As `evaluatedPolicyDomainState`: `nil` where nothing is enrolled, and while the sensor is locked.
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
