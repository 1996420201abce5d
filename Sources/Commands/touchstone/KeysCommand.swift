// `touchstone keys …`: makes, shows, rotates, prunes and exports the keys in a directory.

internal import ArgumentParser
internal import Encodings
internal import TerminalText
internal import TouchstoneCrypto
internal import TouchstonePolicy
internal import TouchstoneServer
internal import TouchstoneStore

struct Keys: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys", abstract: "The keys of a service, which all its replicas share.",
    discussion: """
      A directory holds a pepper, which never changes, and keys for sealing, for signing tokens and for signing in the \
      audit log, one in use of each kind. Copy it, mount it, or export it: its holder can forge tokens.
      """,
    subcommands: [New.self, List.self, Rotate.self, Prune.self, Export.self, Public.self])

  struct Directory: ParsableArguments {
    @Argument(help: "The directory of the keys.", completion: .directory)
    var directory: String
  }

  struct New: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a first set of keys.",
      discussion: "In a directory that is empty or missing; its parent is not made. For PostgreSQL: `serve` makes none."
    )

    @OptionGroup var location: Directory

    func perform() throws(Failure) {
      try failing { () throws(KeyRingError) in
        try KeyStore.create(directory: location.directory)
        printLine(
          "\(location.directory): a pepper, a sealing, a signing and an audit key; keep a copy where no database is")
      }
    }
  }

  struct List: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the keys, without their secrets, and which are in use.")

    @OptionGroup var location: Directory

    @Flag(help: "Print each key as a line of JSON.")
    var json = false

    func perform() throws(Failure) {
      try failing { () throws(KeyRingError) in
        let entries = try KeyStore.list(directory: location.directory, at: systemTime().seconds)
        if json { return entries.forEach { printLine(KeySheet.json($0)) } }
        let rows = entries.map { [$0.file, $0.id, KeySheet.standing($0)] }
        for line in aligned(rows) { printLine(line) }
      }
    }
  }

  struct Rotate: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a key that becomes active later.",
      discussion: """
        Until then it only opens what other keys sealed, or verifies what they signed, and a signing key is published. \
        Every replica must load it before: each does so within a minute of the change of its keys, or on SIGHUP. Services that keep \
        the JWK Set must fetch it again. Earlier keys stay until they are pruned.
        """)

    @OptionGroup var location: Directory

    @Argument(
      help: "sealing, signing or audit.", completion: .list(KeyKind.allCases.map(\.rawValue)),
      transform: { word in
        guard let kind = KeyKind(rawValue: word) else {
          throw ValidationError("there is no kind \(word.debugDescription)")
        }
        return kind
      })
    var kind: KeyKind

    @Option(help: ArgumentHelp("When it becomes active, as 2026-11-21T21:30:00Z.", valueName: "time"))
    var from: String?

    @Option(
      help: ArgumentHelp("How much later it becomes active, as 30s, 5m or 1h; 1h unless given.", valueName: "duration"))
    var after: String?

    private static let standardDelay = Duration.seconds(60 * 60)

    func validate() throws {
      if from != nil, after != nil { throw ValidationError("--from and --after say the same: give one") }
      if let from {
        guard let time = CalendarTime.read(instant: from) else {
          throw ValidationError("--from must be a time in UTC such as 2026-11-21T21:30:00Z")
        }
        // Pruning derives from it when the previous key was replaced.
        guard time > systemTime().seconds else { throw ValidationError("--from is past: give --after 0s instead") }
      }
      if let after, Duration(settingName: after) == nil {
        throw ValidationError("--after must be a time such as 30s, 5m or 1h")
      }
    }

    func perform() throws(Failure) {
      let delay = after.flatMap { Duration(settingName: $0) } ?? Self.standardDelay
      let time = from.flatMap { CalendarTime.read(instant: $0) } ?? (systemTime() + delay).seconds
      try failing { () throws(KeyRingError) in
        let file = try KeyStore.rotate(directory: location.directory, kind, usedFrom: time)
        printLine(
          "\(location.directory)/\(file): in use from \(CalendarTime.instant(time)) on; every replica must have loaded it before then"
        )
      }
    }
  }

  struct Prune: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove the keys that nothing needs any more.",
      discussion: """
        Everything sealed or signed expires within an hour. A key is removed two hours after its successor became \
        active, if that time is known. Audit keys stay, because the audit log keeps their signatures. This trusts the \
        machine's clock: if it is ahead by more than an hour, keys go that are still needed.
        """)

    @OptionGroup var location: Directory

    func perform() throws(Failure) {
      try failing { () throws(KeyRingError) in
        let now = systemTime().seconds
        let removed = try KeyStore.prune(directory: location.directory, at: now)
        for file in removed { printLine("\(location.directory)/\(file): removed") }
        if removed.isEmpty { printLine("\(location.directory): nothing to prune") }
        // With a clock that is ahead, other keys would be active than at the services.
        let active = try KeyStore.list(directory: location.directory, at: now).filter { $0.standing == .active }
        printLine(
          "It is \(CalendarTime.instant(now)) here: \(active.map { "\($0.file) \(KeySheet.standing($0))" }.joined(separator: ", "))"
        )
      }
    }
  }

  struct Public: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the public halves of the audit keys.",
      discussion: """
        In PEM, for `touchstone audit verify --audit-keys`. Keep them where the service's operators cannot change them, and \
        print them again after each rotation. They are no secret. Keep the number of the first signed event beside them: the \
        service logs it when it begins to sign.
        """)

    @Argument(
      help: "The directory of the keys, or a file that `touchstone keys export` wrote.", completion: .file())
    var keys: String

    func perform() throws(Failure) {
      try failing { () throws(KeyRingError) in
        for line in try KeyStore.publicAuditKeys(path: keys) { printLine(line) }
      }
    }
  }

  struct Export: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print all keys as one line.",
      discussion: """
        For the environment variable TOUCHSTONE_KEYS, or for one file of a mounted secret (`keys:` may name a file). \
        The line is the secret itself: keep it where others cannot read it.
        """)

    @OptionGroup var location: Directory

    func perform() throws(Failure) {
      try failing { () throws(KeyRingError) in printLine(try KeyStore.export(directory: location.directory)) }
    }
  }
}

/// Keys as lines, for people or as JSON.
private enum KeySheet {
  /// With the time, in seconds since 1970, from which it is in use, or at which it was replaced, where that is known.
  static func json(_ entry: KeyStore.Entry) -> String {
    let (state, time): (String, (name: String, seconds: Int64)?) =
      switch entry.standing {
      case .coming(let time): ("coming", ("used_from", time))
      case .active: ("active", nil)
      case .retired(let time): ("retired", time.map { ("replaced_at", $0) })
      case .prunable: ("prunable", nil)
      }
    let texts = [("kind", entry.kind.rawValue), ("file", entry.file), ("id", entry.id), ("state", state)]
    var members = texts.map { "\"\($0)\":\(JSONText.quoted($1))" }
    if let time { members.append("\"\(time.name)\":\(time.seconds)") }
    return "{\(members.joined(separator: ","))}"
  }

  static func standing(_ entry: KeyStore.Entry) -> String {
    let (using, used) = entry.kind == .sealing ? ("seals", "opens") : ("signs", "verifies")
    return switch entry.standing {
    case .coming(let time): "\(used), \(using) from \(CalendarTime.instant(time)) on"
    case .active: using
    case .retired(let time?): "\(used), replaced \(CalendarTime.instant(time))"
    case .retired(nil): "\(used), replaced at a time that no name tells: remove it by hand"
    case .prunable: "of no use: prune"
    }
  }
}
