// `touchstone admin events` and `touchstone admin profile events`: the audit log, as it is and as it grows.

internal import ArgumentParser
internal import TouchstoneCodec

/// The discussion of both commands.
private let eventDiscussion = """
  Each event is one line: number, time, kind, application/profile, caller, then what else it says. With --json: an Event in \
  each line. With --follow, the command prints new events until it is ended; if the connection is cut, it goes on after the last \
  event that it printed, and says so on stderr. It ends with 66 if events that it has not printed were archived, or if the \
  database was restored from a backup.
  """

struct AdminEvents: AdminCommand {
  static let configuration = CommandConfiguration(
    commandName: "events", abstract: "List or follow the audit log.", discussion: eventDiscussion)

  @Argument(
    help: ArgumentHelp("Only events of this application. (default: of all and of none)", valueName: "application"))
  var applicationID: String?

  @Argument(help: ArgumentHelp("Only events of this profile.", valueName: "profile"))
  var profileID: String?

  @OptionGroup var selection: EventSelection
  @OptionGroup var options: AdminOptions

  func perform(_ session: AdminSession) async throws(AdminFailure) {
    try await selection.print(session, applicationID ?? "", profileID ?? "")
  }
}

extension AdminProfile {
  struct ProfileEvents: AdminCommand {
    static let configuration = CommandConfiguration(
      commandName: "events", abstract: "List or follow a profile's events.", discussion: eventDiscussion)

    @OptionGroup var profile: ProfileArguments
    @OptionGroup var selection: EventSelection
    @OptionGroup var options: AdminOptions

    func perform(_ session: AdminSession) async throws(AdminFailure) {
      try await selection.print(session, profile.applicationID, profile.profileID)
    }
  }
}

/// Which events to print.
struct EventSelection: ParsableArguments, Sendable {
  @Option(
    name: .customLong("kind"),
    help: ArgumentHelp(
      "Only events of this kind, or kinds that begin so: \"evaluation.\", \"binding.revoked\". May be repeated.",
      valueName: "prefix"))
  var kinds: [String] = []

  @Option(
    help: ArgumentHelp(
      "Only events after the one of this number. (default: all; with --follow, new ones)", valueName: "number"))
  var after: UInt64?

  @Option(help: ArgumentHelp("Only so many, the last ones: from 1 to 10000.", valueName: "count"))
  var last: Int?

  @Flag(help: "Go on with new events.")
  var follow = false

  static let lastRange = 1...10_000

  func validate() throws {
    if let last, !Self.lastRange.contains(last) {
      throw ValidationError("--last must be from \(Self.lastRange.lowerBound) to \(Self.lastRange.upperBound)")
    }
    if follow, last != nil { throw ValidationError("--follow and --last exclude each other") }
  }

  fileprivate func print(
    _ session: AdminSession, _ applicationID: String, _ profileID: String
  ) async throws(AdminFailure) {
    let filter = V1.EventFilter(applicationID: applicationID, profileID: profileID, kinds: kinds)
    let log = EventLog(session: session, filter: filter)
    if follow {
      try await log.follow(after: after)
    } else if let last {
      for event in try await log.last(last, after: after ?? 0) { try log.print(event) }
    } else {
      try await log.list(after: after ?? 0)
    }
  }
}
