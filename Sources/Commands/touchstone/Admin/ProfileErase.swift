// `touchstone admin profile erase`: removes a person's data, after a confirmation.

internal import ArgumentParser
internal import Glibc
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec

extension AdminProfile {
  struct Erase: AdminCommand {
    static let configuration = CommandConfiguration(
      abstract: "Erase everything about a profile, for good.",
      discussion: """
        Removes its bindings, passcode, gesture, switches and events; the audit log's hashes stay. On a terminal, the command \
        shows what there is, and asks for the profile's id once more. Elsewhere it needs --yes. May be repeated after an error. \
        With --json: an EraseProfileResponse.
        """)

    @OptionGroup var profile: ProfileArguments

    @Option(
      help: ArgumentHelp(
        "Why, for the audit log: 1 to 256 bytes. It must name no person: \"requested in ticket 4711\".",
        valueName: "text"))
    var reason: String

    @Flag(help: "Erase without asking.")
    var yes = false

    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      if !yes { try await confirm(session) }
      let answer = try await session.call(
        session.client.eraseProfile,
        V1.EraseProfileRequest(applicationID: profile.applicationID, profileID: profile.profileID, reason: reason))
      if session.isJSON { return try session.printJSON(answer) }
      printLine("profile \(shown(profile.profileID)) of application \(shown(profile.applicationID)): erased")
      if answer.archivedThrough > 0 {
        printLine("events up to \(answer.archivedThrough) are archived: `touchstone audit erase` removes the profile's")
      }
    }

    /// Returns only if the operator typed the profile's id on a terminal.
    private func confirm(_ session: AdminSession) async throws(AdminFailure) {
      guard isatty(STDIN_FILENO) == 1 else {
        throw AdminFailure(.usage, "nothing was erased: without a terminal, `profile erase` needs --yes")
      }
      printError("This erases, for good: \(try await account(session))")
      printError("Type the profile's id to erase it:")
      guard readLine() == profile.profileID else {
        let line = "touchstone: nothing was erased: that is not the profile's id"
        throw AdminFailure(exitCode: EXIT_FAILURE, lines: [line])
      }
    }

    /// One sentence about the profile, so that the operator sees whether this is the right person.
    private func account(_ session: AdminSession) async throws(AdminFailure) -> String {
      let name = "profile \(shown(profile.profileID)) of application \(shown(profile.applicationID))"
      let request = V1.GetProfileRequest(applicationID: profile.applicationID, profileID: profile.profileID)
      do throws(TouchstoneError) {
        let found = try await session.client.getProfile(request)
        let names = found.bindings.filter { $0.state == .active }.map { shown($0.deviceName) }
        let listed = names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"
        let bindings = counted(names.count, "active binding") + listed
        return "\(name), with \(bindings) and \(counted(found.secrets.count, "secret"))"
      } catch {
        guard error.code == .notFound else { throw session.failure(error) }
        return "\(name), of which the service knows nothing but perhaps events"
      }
    }
  }
}
