// One run of an admin command: its client, and what it prints.

internal import CommandProgram
internal import Dispatch
internal import Encodings
internal import Glibc
internal import ServiceDestination
internal import TerminalText
internal import TouchstoneClient
internal import TouchstoneCodec
internal import TouchstoneService

struct AdminSession: Sendable {
  let client: TouchstoneClient
  let configuration: TouchstoneClientConfiguration
  /// Each address of the service.
  let targets: [String]
  let isJSON: Bool
  private let isUTC: Bool
  /// The columns of the terminal; `nil` if stdout is no terminal.
  private let width: Int?

  init(_ options: AdminOptions) throws(AdminFailure) {
    let destination = try options.effectiveDestination()
    let access = try destination.access()
    targets = destination.targets
    var configuration = TouchstoneClientConfiguration(
      target: targets.joined(separator: ","), maximumConnections: 1, metadata: access.metadata)
    configuration.tls = access.tls
    configuration.defaultTimeout = options.timeout.value
    self.configuration = configuration
    client = TouchstoneClient(configuration: configuration)
    isJSON = options.json
    isUTC = options.utc
    width = Self.terminalWidth
    // Each call of localtime_r would read the zone anew otherwise.
    tzset()
  }

  /// Ends the process after the command.
  ///
  /// It does not return, and its type must not say so: before a call that never returns, Swift 6.3.1's optimizer leaves
  /// out the copy of the command into the closure, and the command would read its options from memory that holds
  /// something else.
  func run(_ perform: @escaping @Sendable (AdminSession) async throws(AdminFailure) -> Void) {
    Task {
      do throws(AdminFailure) {
        try await perform(self)
      } catch {
        error.end()
      }
      await client.close()
      Program.end(EXIT_SUCCESS)
    }
    DispatchSemaphore(value: 0).wait()
  }

  func call<Request, Response>(
    _ method: UnaryMethod<Request, Response>, _ request: Request
  ) async throws(AdminFailure) -> Response {
    do throws(TouchstoneError) {
      return try await method(request)
    } catch {
      throw failure(error)
    }
  }

  func failure(_ error: TouchstoneError) -> AdminFailure {
    AdminFailure(error, at: configuration.target, isEncrypted: configuration.tls != nil)
  }

  // MARK: Output

  func printJSON(_ message: some WireMessage) throws(AdminFailure) {
    do throws(EncodingError) {
      printLine(printable(json: try message.json()))
    } catch {
      throw AdminFailure(.wrongAnswer, "the answer cannot be printed: \(error.field) \(error.reason)")
    }
  }

  func print(_ table: TextTable) {
    for line in table.lines(width: width) { printLine(line) }
  }

  /// Words in one line, or in several that are indented if the terminal is too narrow.
  func print(words: [String]) {
    for line in wrapped(words, width: width, indent: 4) { printLine(line) }
  }

  /// RFC 3339, in whole seconds: a person compares them with a clock. "-" without a time.
  func text(_ time: V1.Timestamp?) -> String {
    guard let time else { return "-" }
    return time.rfc3339(offsetMinutes: offsetMinutes(at: time), hasFraction: false) ?? "\(time.seconds) s"
  }

  /// The time as a sentence has it: in whole minutes.
  func minuteText(_ time: V1.Timestamp) -> String { time.minuteText(offsetMinutes: offsetMinutes(at: time)) }

  private func offsetMinutes(at time: V1.Timestamp) -> Int64? {
    isUTC ? nil : Self.localOffsetMinutes(at: time.seconds)
  }

  /// Reads a time as operators type it: an age, a day, a time of day.
  ///
  /// - Parameter isEnd: of the hour that clocks show twice, takes the second one.
  func time(_ text: String, of option: String, isEnd: Bool = false) throws(AdminFailure) -> V1.Timestamp {
    guard let seconds = Self.age(text).map({ Int64(Glibc.time(nil)) - $0 }) ?? calendarTime(text, isEnd: isEnd) else {
      throw AdminFailure(
        .usage, "\(option): \(shown(text)) is no time: say 2h, 2026-11-29, \"2026-11-29 02:00\" or 2026-11-29T02:00:00Z"
      )
    }
    return V1.Timestamp(seconds: seconds)
  }

  /// "2h", in seconds.
  private static func age(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), let count = UInt32(text.dropLast()) else {
      return nil
    }
    return Int64(count) * unit
  }

  /// `nil` also for a time that the zone's clocks skip.
  private func calendarTime(_ text: String, isEnd: Bool) -> Int64? {
    guard let (local, hasOffset) = CalendarTime.read(typed: text) else { return nil }
    if hasOffset || isUTC { return local }
    // By the offsets of the day before and of the day after.
    let points = [local - 86_400, local + 86_400].map { local - Self.localOffsetMinutes(at: $0) * 60 }
      .filter { $0 + Self.localOffsetMinutes(at: $0) * 60 == local }
    return isEnd ? points.max() : points.min()
  }

  private static func localOffsetMinutes(at seconds: Int64) -> Int64 {
    var seconds = time_t(seconds)
    var parts = tm()
    return localtime_r(&seconds, &parts) == nil ? 0 : Int64(parts.tm_gmtoff / 60)
  }

  private static var terminalWidth: Int? {
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return nil
    }
    return Int(size.ws_col)
  }
}
