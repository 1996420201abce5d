// `touchstone admin …`: what support and operators do with a running service, over gRPC.

internal import ArgumentParser

struct Admin: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look at profiles, devices and events of a running service, and act on them.",
    discussion: """
      Calls the service over gRPC, on this machine unless --target says otherwise. An option for the connection that is not \
      given is taken from the environment: TOUCHSTONE_ADMIN_TARGET, TOUCHSTONE_ADMIN_TLS (1), \
      TOUCHSTONE_ADMIN_TLS_AUTHORITIES, TOUCHSTONE_ADMIN_TLS_SERVER_NAME, TOUCHSTONE_ADMIN_TLS_CERTIFICATE, \
      TOUCHSTONE_ADMIN_TLS_KEY and TOUCHSTONE_ADMIN_KEY_FILE.

      Exits with 0 if the service did it, 1 if its state does not allow it, 64 for a wrong argument, 66 if there is no such \
      profile, device, binding or event, 69 if the service cannot be reached, 75 if it is too busy, and 77 if it refuses the \
      caller. docs/SUPPORT.md has the tasks.
      """,
    subcommands: [
      AdminProfile.self, AdminDevice.self, AdminBinding.self, AdminSecret.self, AdminEvents.self, AdminHealth.self,
    ])
}

/// A command that calls the service. Its `run` makes the client, and ends the process when all is printed.
protocol AdminCommand: ParsableCommand, Sendable {
  var options: AdminOptions { get }

  func perform(_ session: AdminSession) async throws(AdminFailure)
}

extension AdminCommand {
  func run() throws {
    let session: AdminSession
    do throws(AdminFailure) {
      session = try AdminSession(options)
    } catch {
      error.end()
    }
    session.run(perform)
  }
}

/// The application and the profile that most commands are about.
struct ProfileArguments: ParsableArguments, Sendable {
  @Argument(help: ArgumentHelp("The application's id.", valueName: "application"))
  var applicationID: String

  @Argument(help: ArgumentHelp("The profile's id: the person's account in the application.", valueName: "profile"))
  var profileID: String
}

/// For commands that change something.
struct ReasonOption: ParsableArguments, Sendable {
  @Option(help: ArgumentHelp("Why, for the audit log: 1 to 256 bytes, in one line.", valueName: "text"))
  var reason: String
}
