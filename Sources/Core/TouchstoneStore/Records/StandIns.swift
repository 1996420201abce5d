// The records that count attempts on unknown subjects, so that these look like known ones (R37).

public import TouchstonePolicy

/// How long a store keeps stand-ins, and how many.
///
/// No device and no profile can have a stand-in's id, because identifiers hold no control characters. Each unknown
/// binding and profile of each application has its own row: a shared row would show the guesses at another one. Only a
/// counted guess writes such a row: a verified secret, a key's proof, or a device's report. A caller that guesses names
/// can make as many rows as guesses, so a store bounds them.
public enum StandInRecords {
  /// Forgotten when no guess was counted for so long. If a row went sooner, two guesses at it would look different from
  /// two guesses at a known subject.
  static let lifetime: Duration = .seconds(365 * 24 * 60 * 60)

  /// The bound for each kind, devices and profiles. The application with the most stand-ins of a kind loses those that
  /// were written longest ago; those that the configuration does not name count together (`StandInShares`). One
  /// application's guesses therefore push out its own stand-ins, and forgetting one takes as many further guesses there
  /// as its share holds. A cheap kind of guess (a key's proof, a
  /// report) cannot push out the count of a costly one (a passcode, some 20 ms of a core each). With identifiers of 36
  /// bytes, a million rows of each kind take some 600 MB of disk with their indexes; with the longest ones 2 GB.
  public static let defaultMaximum = 1_000_000
}

/// The table of a stand-in. Each has its own bound.
package enum StandInKind: Int64, Sendable, Hashable, CaseIterable {
  case devices = 1
  case profiles
}

/// How many rows of stand-ins a store has.
package struct StandInCounts: Sendable, Hashable {
  package var devices: Int
  package var profiles: Int

  package init(devices: Int = 0, profiles: Int = 0) {
    self.devices = devices
    self.profiles = profiles
  }

  package subscript(kind: StandInKind) -> Int {
    get {
      switch kind {
      case .devices: devices
      case .profiles: profiles
      }
    }
    set {
      switch kind {
      case .devices: devices = newValue
      case .profiles: profiles = newValue
      }
    }
  }
}

extension DeviceRecord {
  /// For its own application only: guesses in other applications do not count here.
  public static func standInID(forUnknownBinding bindingID: String, applicationID: String) -> String {
    "\u{1}\(applicationID)\u{1}\(bindingID)"
  }

  /// Counts a revoked binding's attempts (R10). It is kept as long as the binding, because a device never forgets its
  /// failures either.
  public static func standInID(forRevokedBinding bindingID: String) -> String { "\u{2}\(bindingID)" }

  /// If no device is known: never written.
  public static let placeholder = DeviceRecord(deviceID: "")

  package var isStandIn: Bool { deviceID.utf8.first == 1 }

  /// The application of a stand-in that counts towards the bound; `nil` for every other record.
  package var standInApplicationID: String? {
    guard isStandIn else { return nil }
    return String(Substring(deviceID.utf8.dropFirst().prefix { $0 != 1 }))
  }

  /// When a stand-in that is written now may be forgotten; `nil` for a device, which never is.
  public func standInEnd(writtenAt time: UnixTime) -> UnixTime? {
    isStandIn ? time + StandInRecords.lifetime : nil
  }
}

extension ProfileRecord {
  public static func standInID(forUnknownBinding bindingID: String) -> String { "\u{1}\(bindingID)" }

  /// For a profile that is unknown, or has no secret.
  public static func standInID(forProfile profileID: String) -> String { "\u{2}\(profileID)" }

  /// Counts passcodes and gestures that are tried through a revoked binding (R10). It is kept as long as the binding,
  /// like its device's stand-in.
  public static func standInID(forRevokedBinding bindingID: String) -> String { "\u{3}\(bindingID)" }

  /// The stand-in of its revoked binding, until the first attempt is counted there. It answers as the profile does, and
  /// no secret is right (R37).
  public func standIn(forRevokedBinding bindingID: String) -> ProfileRecord {
    ProfileRecord(
      applicationID: applicationID, profileID: Self.standInID(forRevokedBinding: bindingID), settings: settings,
      passcode: passcode?.ofStandIn, gesture: gesture?.ofStandIn)
  }

  /// If no profile is known: never written.
  public static func placeholder(in applicationID: String) -> ProfileRecord {
    ProfileRecord(applicationID: applicationID, profileID: "")
  }

  package var isStandIn: Bool {
    let first = profileID.utf8.first
    return first == 1 || first == 2
  }

  /// The application of a stand-in that counts towards the bound; `nil` for every other record.
  package var standInApplicationID: String? { isStandIn ? applicationID : nil }

  /// When a stand-in that is written now may be forgotten: not before its locks have ended. `nil` for a profile, which
  /// is never forgotten.
  public func standInEnd(writtenAt time: UnixTime) -> UnixTime? {
    guard isStandIn else { return nil }
    let ends = [passcode, gesture].map { secret in
      if case .until(let end) = secret?.standing.lock { end } else { time }
    }
    return max(ends[0], ends[1], time + StandInRecords.lifetime)
  }
}

extension SecretRecord {
  /// Without its verifier, and without attempts in flight, whose verdicts go elsewhere.
  fileprivate var ofStandIn: SecretRecord {
    var secret = self
    secret.verifier = []
    secret.standing.inFlight = 0
    return secret
  }
}

extension BindingRecord {
  /// The profile record that counts passcodes and gestures that are tried through it: after its revocation, a stand-in
  /// (R10).
  public var countingProfileID: String {
    isRevoked ? ProfileRecord.standInID(forRevokedBinding: bindingID) : profileID
  }

  /// The device record that counts its attempts and decides its offers: after its revocation, a stand-in (R10).
  public var countingDeviceID: String {
    isRevoked ? DeviceRecord.standInID(forRevokedBinding: bindingID) : deviceID
  }
}

/// Which records count the attempts on a subject: its own, a stand-in, or, if none is known, a placeholder.
package struct CountingRecords: Sendable, Hashable {
  /// The device's. A stand-in and a placeholder belong to no vendor.
  package let vendor: Vendor
  package let deviceID: String
  package let applicationID: String
  /// For a revoked binding, its stand-in's, which is its profile until an attempt was counted there
  /// (`ProfileRecord.standIn(forRevokedBinding:)`).
  package let profileID: String

  /// - Parameters:
  ///   - binding: the subject's; `nil`: the subject is none, or it is unknown in its application.
  ///   - vendor: the application's.
  package init(of subject: AttemptSubject, binding: SharedRecord<BindingRecord>?, vendor: Vendor) {
    self.vendor = binding?.value.isRevoked == false ? vendor : .everybody
    switch subject {
    case .binding(let applicationID, let bindingID):
      self.applicationID = applicationID
      deviceID =
        binding?.value.countingDeviceID
        ?? DeviceRecord.standInID(forUnknownBinding: bindingID, applicationID: applicationID)
      profileID = binding?.value.countingProfileID ?? ProfileRecord.standInID(forUnknownBinding: bindingID)
    case .profile(let applicationID, let profileID):
      self.applicationID = applicationID
      deviceID = DeviceRecord.placeholder.deviceID
      self.profileID = profileID
    case .profileTouchID(let applicationID, _):
      self.applicationID = applicationID
      deviceID = binding?.value.countingDeviceID ?? DeviceRecord.placeholder.deviceID
      profileID = binding?.value.countingProfileID ?? ProfileRecord.placeholder(in: applicationID).profileID
    }
  }

  /// As long as nothing was counted there.
  package var newDevice: DeviceRecord { DeviceRecord(deviceID: deviceID, vendor: vendor) }

  /// As long as nothing was counted there.
  package var newProfile: ProfileRecord { ProfileRecord(applicationID: applicationID, profileID: profileID) }
}

extension DeviceRecord {
  /// A stand-in of any kind.
  package var isOfNoVendor: Bool { deviceID.utf8.first == 1 || deviceID.utf8.first == 2 }
}

extension ChangeSet {
  /// Revokes the binding. Its stand-in gets the count of its device, so that its answers continue as they were (R37).
  ///
  /// - Parameter device: the binding's device until now.
  public mutating func revoke(_ binding: BindingRecord, on device: DeviceRecord) {
    var revoked = binding
    revoked.isRevoked = true
    changes.append(.putBinding(revoked))
    guard device.biometry != BiometryStanding() else { return }
    changes.append(.putDevice(DeviceRecord(deviceID: revoked.countingDeviceID, biometry: device.biometry)))
  }
}
