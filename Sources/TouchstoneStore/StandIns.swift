// Where the attempts on what is unknown are counted, so that they look like a known one's (R37).

public import TouchstonePolicy

/// How long a store keeps stand-ins, and how many.
///
/// No device and no profile can have a stand-in's id: identifiers hold no control characters. Each unknown binding and
/// profile of each application has a row of its own, for one that shared a row would show what was tried on another.
/// Only a guess that was counted writes such a row: a secret that was verified, a key's proof, or a device's report. A
/// caller that guesses names can make as many rows as it makes guesses, so a store bounds them.
public enum StandInRecords {
  /// Forgotten when no guess was counted for so long: a row that went sooner would tell two guesses on it apart from two
  /// guesses on a known one.
  static let lifetime: Duration = .seconds(365 * 24 * 60 * 60)

  /// Of each kind, devices and profiles; the least recently written goes first. So forgetting one takes a million
  /// further guesses, and a cheap kind of guess (a key's proof) cannot push out what a costly one (a passcode, some 20 ms
  /// of a core each) counted. With identifiers of 36 bytes, a million rows of each kind take some 500 MB of disk with
  /// their indexes; with the longest ones 1.5 GB.
  public static let defaultMaximum = 1_000_000
}

/// How many rows of stand-ins a store has.
package struct StandInCounts: Sendable, Hashable {
  package var devices: Int
  package var profiles: Int

  package init(devices: Int = 0, profiles: Int = 0) {
    self.devices = devices
    self.profiles = profiles
  }
}

extension DeviceRecord {
  /// In its own application alone: another one's guesses are nothing to it.
  public static func standInID(forUnknownBinding bindingID: String, applicationID: String) -> String {
    "\u{1}\(applicationID)\u{1}\(bindingID)"
  }

  /// Where a revoked binding's attempts are counted (R10). It is kept as long as the binding: a device never forgets its
  /// failures either.
  public static func standInID(forRevokedBinding bindingID: String) -> String { "\u{2}\(bindingID)" }

  /// Where no device is known: never written.
  public static let placeholder = DeviceRecord(deviceID: "")

  package var isStandIn: Bool { deviceID.utf8.first == 1 }

  /// When a stand-in that is written now may be forgotten; `nil` for a device, which never is.
  public func standInEnd(writtenAt time: UnixTime) -> UnixTime? {
    isStandIn ? time + StandInRecords.lifetime : nil
  }
}

extension ProfileRecord {
  public static func standInID(forUnknownBinding bindingID: String) -> String { "\u{1}\(bindingID)" }

  /// Of a profile that is unknown, or has no secret.
  public static func standInID(forProfile profileID: String) -> String { "\u{2}\(profileID)" }

  /// Where nobody is known: never written.
  public static func placeholder(in applicationID: String) -> ProfileRecord {
    ProfileRecord(applicationID: applicationID, profileID: "")
  }

  package var isStandIn: Bool {
    let first = profileID.utf8.first
    return first == 1 || first == 2
  }

  /// When a stand-in that is written now may be forgotten, which is not before its locks have ended; `nil` for a
  /// profile, which never is.
  public func standInEnd(writtenAt time: UnixTime) -> UnixTime? {
    guard isStandIn else { return nil }
    let ends = [passcode, gesture].map { secret in
      if case .until(let end) = secret?.standing.lock { end } else { time }
    }
    return max(ends[0], ends[1], time + StandInRecords.lifetime)
  }
}

extension BindingRecord {
  /// The device record on which its attempts count, and which its offers rest on: once it is revoked, a stand-in (R10).
  public var countingDeviceID: String {
    isRevoked ? DeviceRecord.standInID(forRevokedBinding: bindingID) : deviceID
  }

  /// Whose that record is, where the application is this vendor's: a stand-in is nobody's.
  public func countingVendor(_ vendor: Vendor) -> Vendor { isRevoked ? .everybody : vendor }
}

extension DeviceRecord {
  /// A stand-in, of whichever kind.
  package var isOfNoVendor: Bool { deviceID.utf8.first == 1 || deviceID.utf8.first == 2 }
}

extension ChangeSet {
  /// Revokes the binding. What was counted on its device is copied to its stand-in, so that its answers go on as they
  /// were (R37).
  ///
  /// - Parameter device: that it was on until now.
  public mutating func revoke(_ binding: BindingRecord, on device: DeviceRecord) {
    var revoked = binding
    revoked.isRevoked = true
    changes.append(.putBinding(revoked))
    guard device.biometry != BiometryStanding() else { return }
    changes.append(.putDevice(DeviceRecord(deviceID: revoked.countingDeviceID, biometry: device.biometry)))
  }
}
