// `touchstone admin profile …`: a person's account in an application.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec
internal import TouchstoneService

struct AdminProfile: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile", abstract: "A person's account in an application.",
    subcommands: [Find.self, Show.self, Explain.self, Settings.self, ProfileEvents.self, Erase.self])

  struct Find: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Find a profile by an id, or profiles by the beginning of theirs.",
      discussion: """
        The service ignores spaces, line ends, quotes and invisible marks around the id. If nobody has the id, the command lists \
        profiles whose ids begin so. With --json each line is a FoundProfile, and only --prefix lists profiles whose ids begin so. \
        The audit log has each search. Exits with 66 if nothing is found.
        """)

    @Argument(help: ArgumentHelp("The application's id.", valueName: "application"))
    var applicationID: String

    @Argument(help: "The id of a profile, a binding, a device or a passkey's credential.")
    var text: String

    @Flag(help: "List the profiles whose ids begin so, 20 at most, also if one is exactly this; 3 characters or more.")
    var prefix = false

    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      var answer = try await find(session, byPrefix: prefix)
      // A script would take a profile whose id begins so for the one that it asked for.
      if answer.profiles.isEmpty, !prefix, !session.isJSON {
        do throws(AdminFailure) {
          answer = try await find(session, byPrefix: true)
        } catch {
          // A text that is too short to be a beginning lists nothing.
          guard error.exitCode == ExitStatus.usage.rawValue else { throw error }
        }
      }
      guard !answer.profiles.isEmpty else {
        throw AdminFailure(.noInput, "nothing is found by \(shown(text)) in application \(shown(applicationID))")
      }
      for found in answer.profiles where session.isJSON { try session.printJSON(found) }
      if !session.isJSON {
        session.print(
          TextTable(
            ["PROFILE", "FOUND BY", "BINDING"],
            answer.profiles.map {
              [shown($0.profileID), $0.foundBy.word, $0.bindingID.isEmpty ? "-" : shown($0.bindingID)]
            }))
      }
      if answer.hasMore { printError("touchstone: more ids begin so: type more of it") }
    }

    private func find(
      _ session: AdminSession, byPrefix isPrefix: Bool
    ) async throws(AdminFailure) -> V1.FindProfilesResponse {
      let request = V1.FindProfilesRequest(applicationID: applicationID, text: text, prefix: isPrefix)
      return try await session.call(session.client.findProfiles, request)
    }
  }

  struct Show: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show a profile: whether the person can log in, bindings, devices, passcode, gesture and switches.",
      discussion: "With --json: a GetProfileResponse. At most 100 bindings; `admin binding list` has all.")

    @OptionGroup var profile: ProfileArguments
    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let answer = try await session.profile(profile)
      if session.isJSON { return try session.printJSON(answer) }
      printLine("profile \(shown(profile.profileID)) of application \(shown(profile.applicationID))")
      session.print(LoginReport(answer))
      session.print("bindings", BindingSheet.table(answer.bindings, session))
      session.print("devices", DeviceSheet.table(answer, session))
      session.print("secrets", SettingsSheet.table(answer.secrets, session))
      session.print("switches", SettingsSheet.table(answer.settings ?? V1.UnlockSettings(), session))
      for advisory in answer.advisories { printLine("\n\(Self.sentence(advisory))") }
    }

    private static func sentence(_ advisory: String) -> String {
      advisory == "NO_RECOVERY_FACTOR"
        ? "NO_RECOVERY_FACTOR: after five failures or a changed finger, the person could only bind a phone anew"
        : printable(advisory)
    }
  }

  struct Settings: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show or change a profile's switches: which ways to unlock are on.",
      discussion: """
        Without a switch, shows them. A change needs a --reason. With --gesture off, the service erases the gesture; a passcode \
        that is switched off stays. With --json: an UnlockSettings. An unknown profile has the switches of a new one.
        """)

    @OptionGroup var profile: ProfileArguments

    @Option(help: ArgumentHelp("Everything that biometrics unlock.", valueName: "on|off"))
    var biometry: Switch?

    @Option(help: ArgumentHelp("The gesture.", valueName: "on|off"))
    var gesture: Switch?

    @Option(help: ArgumentHelp("The passcode.", valueName: "on|off"))
    var passcode: Switch?

    @Option(
      help: ArgumentHelp("What to offer first: biometry, gesture, passcode or none.", valueName: "factor"))
    var preferred: Preference?

    @Option(
      help: ArgumentHelp("Why a switch is changed, for the audit log: 1 to 256 bytes, in one line.", valueName: "text"))
    var reason: String?

    @OptionGroup var options: AdminOptions

    func validate() throws {
      if change != nil, reason?.isEmpty != false { throw ValidationError("a change of a switch needs a --reason") }
      if change == nil, reason != nil { throw ValidationError("--reason is for a change, and no switch is named") }
    }

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      let request = V1.GetUnlockSettingsRequest(applicationID: profile.applicationID, profileID: profile.profileID)
      let settings = try await session.call(session.client.getUnlockSettings, request).settings ?? V1.UnlockSettings()
      try await show(settings, session)
    }

    /// `nil` if no switch was given.
    private var change: ((V1.UnlockSettings) -> V1.UnlockSettings)? {
      if biometry == nil, gesture == nil, passcode == nil, preferred == nil { return nil }
      return { settings in
        var settings = settings
        settings.biometryEnabled = biometry?.isOn ?? settings.biometryEnabled
        settings.gestureEnabled = gesture?.isOn ?? settings.gestureEnabled
        settings.passcodeEnabled = passcode?.isOn ?? settings.passcodeEnabled
        settings.preferred = preferred?.factor ?? settings.preferred
        return settings
      }
    }

    /// Changes the settings that were read, unless another caller was faster.
    private func show(
      _ read: V1.UnlockSettings, _ session: AdminSession
    ) async throws(AdminFailure) {
      var settings = read
      if let change, let reason {
        let request = V1.SetUnlockSettingsRequest(
          applicationID: profile.applicationID, profileID: profile.profileID, settings: change(read), reason: reason,
          expected: read)
        settings = try await session.call(session.client.setUnlockSettings, request).settings ?? settings
      }
      if session.isJSON { return try session.printJSON(settings) }
      session.print(SettingsSheet.table(settings, session))
    }
  }

  enum Switch: String, ExpressibleByArgument, CaseIterable {
    case on, off

    var isOn: Bool { self == .on }
  }

  enum Preference: String, ExpressibleByArgument, CaseIterable {
    case biometry, gesture, passcode, none

    var factor: V1.Factor {
      switch self {
      case .biometry: .biometry
      case .gesture: .gesture
      case .passcode: .passcode
      case .none: .unspecified
      }
    }
  }
}

extension AdminSession {
  /// - Parameter policy: of the diagnoses; empty: the usual one.
  func profile(
    _ profile: ProfileArguments, policy: String = ""
  ) async throws(AdminFailure) -> V1.GetProfileResponse {
    try await call(
      client.getProfile,
      V1.GetProfileRequest(applicationID: profile.applicationID, profileID: profile.profileID, policy: policy))
  }

  /// A line for each way to log in.
  func print(_ report: LoginReport) {
    for entry in report.entries {
      printLine("\(entry.name(shown: shown, time: minuteText)): \(entry.text(time: minuteText))")
    }
  }

  /// A table under its name, or a line that there is nothing.
  func print(_ name: String, _ table: TextTable) {
    printLine("")
    if table.isEmpty { return printLine("no \(name)") }
    printLine("\(name):")
    print(table)
  }
}
