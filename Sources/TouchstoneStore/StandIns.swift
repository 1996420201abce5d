// Where the attempts on what is unknown are counted, so that they look like a known one's (R37).

public import TouchstonePolicy

/// No device and no profile can have a stand-in's id: identifiers hold no control characters. Whoever guesses names can
/// make as many stand-ins, so a store forgets them.
private enum StandInLifetime {
  /// After a day without a write: nobody's device is unlocked by it.
  static let counting: Duration = .seconds(24 * 60 * 60)
  /// One that is locked until set anew would tell that it is none if it forgot as soon. Each took ten verified guesses
  /// and over an hour and a half, so that few are made.
  static let disabled: Duration = .seconds(30 * 24 * 60 * 60)
}

extension DeviceRecord {
  public static func standInID(forUnknownBinding bindingID: String) -> String { "\u{1}\(bindingID)" }

  /// Where no device is known: never written.
  public static let placeholder = DeviceRecord(deviceID: "")

  /// When a stand-in that is written now may be forgotten; `nil` for a device, which never is.
  public func standInEnd(writtenAt time: UnixTime) -> UnixTime? {
    deviceID.utf8.first == 1 ? time + StandInLifetime.counting : nil
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

  /// When a stand-in that is written now may be forgotten, which is not before its locks have ended; `nil` for a
  /// profile, which never is.
  public func standInEnd(writtenAt time: UnixTime) -> UnixTime? {
    guard let first = profileID.utf8.first, first == 1 || first == 2 else { return nil }
    let ends = [passcode, gesture].map { secret in
      switch secret?.standing.lock ?? .none {
      case .none: time
      case .until(let end): end
      case .untilSetAnew: time + StandInLifetime.disabled
      }
    }
    return max(ends[0], ends[1], time + StandInLifetime.counting)
  }
}
