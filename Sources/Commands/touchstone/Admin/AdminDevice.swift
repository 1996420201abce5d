// `touchstone admin device …` and `touchstone admin secret …`: locks, and their end before its time.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec

struct AdminDevice: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: "Devices and the lockout of their biometrics.",
    subcommands: [Show.self, Unlock.self])

  struct Show: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the devices of a profile's active bindings.",
      discussion: """
        Their locks, and what each device reported last about itself. With --json: a DeviceStanding in each line; \
        `admin profile show --json` also has the reports (postures).
        """)

    @OptionGroup var profile: ProfileArguments
    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let answer = try await session.profile(profile)
      guard session.isJSON else { return session.print(DeviceSheet.table(answer, session)) }
      for device in answer.devices { try session.printJSON(device) }
    }
  }

  struct Unlock: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "End the lockout of a device's biometrics.",
      discussion: """
        Also sets the count of failures to zero, for all applications of the application's vendor. May be repeated, and \
        says whether there was a lock to end. Ask the person for proof of who they are first: five wrong attempts may have been another person's.
        """)

    @Argument(help: ArgumentHelp("The application's id.", valueName: "application"))
    var applicationID: String

    @Argument(help: ArgumentHelp("The device's id, as `admin device show` has it.", valueName: "device"))
    var deviceID: String

    @OptionGroup var reason: ReasonOption
    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let answer = try await session.call(
        session.client.unlockDevice,
        V1.UnlockDeviceRequest(applicationID: applicationID, deviceID: deviceID, reason: reason.reason))
      if session.isJSON { return try session.printJSON(answer) }
      printLine("device \(shown(deviceID)): \(answer.changed ? "unlocked" : "was not locked; nothing changed")")
    }
  }
}

struct AdminSecret: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "secret", abstract: "Passcodes and gestures.", subcommands: [Unlock.self])

  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case passcode, gesture

    var value: V1.SecretKind { self == .passcode ? .passcode : .gesture }
  }

  struct Unlock: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "End the lock of a passcode or a gesture before its time.",
      discussion: """
        Also sets the count of failures to zero. May be repeated. A disabled passcode or gesture cannot be unlocked: the person \
        logs in by other means and sets it anew in the app.
        """)

    @OptionGroup var profile: ProfileArguments

    @Argument(help: "passcode or gesture.")
    var kind: Kind

    @OptionGroup var reason: ReasonOption
    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let answer = try await session.call(
        session.client.unlockSecret,
        V1.UnlockSecretRequest(
          applicationID: profile.applicationID, profileID: profile.profileID, kind: kind.value, reason: reason.reason))
      if session.isJSON { return try session.printJSON(answer) }
      let result = answer.changed ? "unlocked" : "was not locked; nothing changed"
      printLine("\(kind.rawValue) of profile \(shown(profile.profileID)): \(result)")
    }
  }
}
