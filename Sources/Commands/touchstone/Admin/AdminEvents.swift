// `touchstone admin events` and `touchstone admin profile events`: the audit log, as it is and as it grows.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneCodec
internal import TouchstoneService

/// The discussion of both commands.
private let eventDiscussion = """
  Each event is one line: number, time, kind, application/profile, caller, then what else it says. With --json: an Event in \
  each line. --since and --until take an age (90s, 30m, 2h, 7d), a day (2026-11-29) or a time ("2026-11-29 02:00", \
  2026-11-29T02:00:00Z), by this machine's time zone without another one. With --follow, the command prints new events until it is ended; if the connection is cut, it goes on after the last \
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

  @Option(help: ArgumentHelp("Only events of this time and later ones.", valueName: "time"))
  var since: String?

  @Option(help: ArgumentHelp("Only events before this time.", valueName: "time"))
  var until: String?

  @Option(help: ArgumentHelp("Only events of this device.", valueName: "id"))
  var device = ""

  @Option(help: ArgumentHelp("Only events of this binding.", valueName: "id"))
  var binding = ""

  @Option(help: ArgumentHelp("Only events of this caller, or of operator:NAME.", valueName: "name"))
  var caller = ""

  @Option(
    help: ArgumentHelp(
      "Only events with this reason, such as SIGNATURE_INVALID. --count-by reason lists those that occurred.",
      valueName: "word"))
  var reason = ""

  @Option(
    help: ArgumentHelp(
      "Only events after the one of this number. (default: all; with --follow, new ones)", valueName: "number"))
  var after: UInt64?

  @Option(help: ArgumentHelp("Only so many, the last ones: from 1 to 10000.", valueName: "count"))
  var last: Int?

  @Flag(help: "Go on with new events.")
  var follow = false

  @Option(help: ArgumentHelp("Stop with 1 if there are more events than this.", valueName: "count"))
  var limit = 1_000_000

  @Flag(help: "Print comma-separated values, for a spreadsheet.")
  var csv = false

  @Option(
    help: ArgumentHelp(
      "Print how many events there are of each profile, caller, reason or kind, the most first.",
      valueName: "profile|caller|reason|kind"))
  var countBy: EventCount.Key?

  static let lastRange = 1...10_000

  func validate() throws {
    if let last, !Self.lastRange.contains(last) {
      throw ValidationError("--last must be from \(Self.lastRange.lowerBound) to \(Self.lastRange.upperBound)")
    }
    if limit < 1 { throw ValidationError("--limit must be at least 1") }
    if follow, last ?? 0 > 0 || countBy != nil || since ?? until != nil {
      throw ValidationError("--follow excludes --last, --count-by, --since and --until")
    }
    if countBy != nil, last != nil || csv { throw ValidationError("--count-by excludes --last and --csv") }
  }

  fileprivate func print(
    _ session: AdminSession, _ applicationID: String, _ profileID: String
  ) async throws(AdminFailure) {
    if csv, session.isJSON { throw AdminFailure(.usage, "--csv and --json exclude each other") }
    let filter = V1.EventFilter(
      applicationID: applicationID, profileID: profileID, kinds: kinds, deviceID: device, bindingID: binding,
      caller: caller, reason: reason)
    var log = EventLog(session: session, filter: filter, isTable: csv, limit: limit)
    log.since = try since.map { text throws(AdminFailure) in try session.time(text, of: "--since") }
    log.until = try until.map { text throws(AdminFailure) in try session.time(text, of: "--until", isEnd: true) }
    if let since = log.since, let until = log.until, until.seconds <= since.seconds {
      throw AdminFailure(.usage, "--until (\(session.text(until))) is not after --since (\(session.text(since)))")
    }
    if csv { printLine(EventTable.heading) }
    if follow {
      try await log.follow(after: after)
    } else if let countBy {
      try await log.count(by: countBy, after: after ?? 0)
    } else if let last {
      let events = try await log.last(last, after: after ?? 0)
      for event in events { try log.print(event) }
      log.tellIfNone(events.count)
    } else {
      try await log.list(after: after ?? 0)
    }
  }
}
