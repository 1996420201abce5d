// How many calls are sent, when and by how many callers: the same for all that is loaded.

internal import ArgumentParser
internal import LoadModel

struct LoadOptions: ParsableArguments {
  @Option(help: "HTTP/2 connections, spread evenly over the targets.")
  var connections = 8

  @Option(help: "In a closed loop, calls in flight on each connection.")
  var streams = 10

  @Option(help: "Calls in flight at most. (default: connections × streams; with a rate, as many as it needs)")
  var callers: Int?

  @Option(help: "Threads that send and receive, each with its part of the connections.")
  var threads = 1

  @Option(help: ArgumentHelp("How long to measure: 10s, 500ms, 2m.", valueName: "time"))
  var duration = LoadDuration(value: .seconds(10))

  @Option(help: ArgumentHelp("How long to run before measuring.", valueName: "time"))
  var warmup = LoadDuration(value: .seconds(1))

  @Option(help: ArgumentHelp("How long a request may take, up to 10m.", valueName: "time"))
  var timeout = LoadDuration(value: .seconds(10))

  @Option(help: ArgumentHelp("How long to wait for the last answers, as long as some come.", valueName: "time"))
  var grace = LoadDuration(value: .seconds(5))

  @Option(help: ArgumentHelp("Calls due per second. (default: a closed loop)", valueName: "per second"))
  var rate = 0.0

  @Option(
    help: ArgumentHelp(
      "closed, constant:200, poisson:200, steps:100,200,400, ramp:100-1000, or spike:100-1000.",
      valueName: "shape"))
  var shape: LoadShape?

  @Flag(help: "Search the highest rate that meets the objectives; each trial takes --duration.")
  var findMax = false

  /// One address has 65,535 ports for connections to the same service, and other programs need some of them.
  private static let connectionRange = 1...60_000
  /// Beyond these, one load process is no longer what limits.
  private static let streamRange = 1...1_000
  private static let threadRange = 1...64
  private static let maximumClosedCallers = 100_000
  private static let callerRange = 1...1_000_000
  /// As of `touchstone admin`.
  private static let longestTimeout = Duration.seconds(600)

  func validate() throws {
    try Self.check("connections", connections, Self.connectionRange)
    try Self.check("streams", streams, Self.streamRange)
    try Self.check("threads", threads, Self.threadRange)
    if let callers { try Self.check("callers", callers, Self.callerRange) }
    guard connections * streams <= Self.maximumClosedCallers else {
      throw ValidationError("--connections times --streams must be at most \(Self.maximumClosedCallers)")
    }
    guard threads <= callers ?? threads else { throw ValidationError("--threads must be at most --callers") }
    guard (0...LoadShape.maximumRate).contains(rate) else {
      throw ValidationError("--rate must be from 0 to \(LoadShape.maximumRate.fixed(0))")
    }
    guard rate == 0 || shape == nil else { throw ValidationError("--rate and --shape exclude each other") }
    guard !findMax || shape == nil else {
      throw ValidationError("--find-max sets the rate itself; --rate is the first one")
    }
    guard duration.value > .zero else { throw ValidationError("--duration must be more than 0") }
    guard timeout.value > .zero, timeout.value <= Self.longestTimeout else {
      throw ValidationError("--timeout must be more than 0, and at most 10m")
    }
  }

  static func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
    guard range.contains(value) else {
      throw ValidationError("--\(name) must be from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  var loadShape: LoadShape { shape ?? (rate > 0 ? LoadShape(.constant(rate)) : .closed) }

  /// Each target has a part of the connections of each thread.
  func settings(_ targets: [String]) throws(LoadError) -> LoadSettings {
    guard connections >= threads * targets.count else {
      throw .usage("--connections must be at least --threads times the number of targets, \(threads * targets.count)")
    }
    return LoadSettings(
      targets: targets, connections: connections, streams: streams, callers: callers, threads: threads,
      timeout: timeout.value, warmUp: warmup.value, duration: duration.value, grace: grace.value)
  }
}

extension LoadShape: ExpressibleByArgument {
  package init?(argument: String) {
    self.init(argument)
  }
}

/// A time with its unit: "10s", "500ms", "2m", "1h".
struct LoadDuration: ExpressibleByArgument {
  var value: Duration

  var defaultValueDescription: String { "\(value.components.seconds)s" }

  init(value: Duration) {
    self.value = value
  }

  init?(argument: String) {
    guard let duration = Duration(loadTime: argument) ?? Duration(loadTime: argument + "s") else { return nil }
    value = duration
  }
}
