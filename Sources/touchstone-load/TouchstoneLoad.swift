// `touchstone-load`: simulated phones with real keys, as fast as the service answers.

internal import ArgumentParser
internal import Dispatch
internal import Glibc
internal import TouchstoneClient

@main
struct TouchstoneLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "touchstone-load",
    abstract: "Load a running Touchstone with simulated phones.",
    discussion: """
      Closed loop: connections × streams phones, each of which starts anew when it was answered, or at a fixed rate. A login is a \
      BeginEvaluation, a signature by the phone's own P-256 key and a SubmitAttempt, and counts only where it succeeded.
      """)

  @OptionGroup var destination: Destination

  @Option(help: "What every phone does: \(Scenario.allCases.map(\.rawValue).joined(separator: " or ")).")
  var scenario = Scenario.login

  @Option(help: "HTTP/2 connections.")
  var connections = 8

  @Option(help: "Calls in flight on each connection.")
  var streams = 10

  @Option(help: ArgumentHelp("How long to measure: 10s, 500ms, 2m.", valueName: "time"))
  var duration = LoadDuration(value: .seconds(10))

  @Option(help: ArgumentHelp("How long to run before measuring.", valueName: "time"))
  var warmup = LoadDuration(value: .seconds(1))

  @Option(help: "Right passcodes a second, typed beside the scenario by people of their own.")
  var passcodes = 0

  @Option(
    help: ArgumentHelp(
      "Start so many a second, as far as phones are free; latencies count from when each was due. (default: as many as are answered)",
      valueName: "per second"))
  var rate = 0

  @Option(
    help: ArgumentHelp(
      "Phones are random ones of so many bindings that were written into the store before. (default: phones of its own)",
      valueName: "bindings"))
  var seeded: Int?

  @Flag(help: "Print the public keys that bindings are to be seeded with, and end.")
  var printSeededKeys = false

  @Flag(help: "One JSON object on stdout instead of text.")
  var json = false

  /// Beyond these, one load process is no longer what limits.
  private static let connectionRange = 1...10_000
  private static let streamRange = 1...1_000
  private static let maximumPhones = 100_000
  private static let passcodeRange = 0...1_000
  private static let rateRange = 0...1_000_000

  func validate() throws {
    guard Self.connectionRange.contains(connections) else {
      throw ValidationError("--connections must be from 1 to \(Self.connectionRange.upperBound)")
    }
    guard Self.streamRange.contains(streams) else {
      throw ValidationError("--streams must be from 1 to \(Self.streamRange.upperBound)")
    }
    guard connections * streams <= Self.maximumPhones else {
      throw ValidationError("--connections times --streams must be at most \(Self.maximumPhones)")
    }
    guard Self.passcodeRange.contains(passcodes) else {
      throw ValidationError("--passcodes must be at most \(Self.passcodeRange.upperBound)")
    }
    guard seeded ?? 1 > 0 else { throw ValidationError("--seeded must be at least 1") }
    guard Self.rateRange.contains(rate) else {
      throw ValidationError("--rate must be at most \(Self.rateRange.upperBound)")
    }
  }

  func run() throws {
    if printSeededKeys {
      for key in SeededPhones(count: 1).publicKeys { print(key) }
      return
    }
    signal(SIGPIPE, SIG_IGN)
    Task {
      do throws(LoadError) {
        let report = try await Load(
          service: destination.configuration(), scenario: scenario, connections: connections, streams: streams,
          warmup: warmup.value,
          duration: duration.value, passcodes: passcodes, rate: rate,
          seeded: seeded.map { SeededPhones(count: $0) }
        ).run()
        print(json ? report.json : report.text)
        // Flushes what was printed.
        Glibc.exit(report.completed > 0 ? EXIT_SUCCESS : EXIT_FAILURE)
      } catch {
        Self.exit(withError: error)
      }
    }
    dispatchMain()
  }
}

enum Scenario: String, CaseIterable, ExpressibleByArgument {
  /// BeginEvaluation, signature, SubmitAttempt.
  case login
  /// CanEvaluatePolicy.
  case preflight
}

/// A time with its unit: "10s", "500ms", "2m".
struct LoadDuration: ExpressibleByArgument {
  var value: Duration

  var defaultValueDescription: String { "\(value.components.seconds)s" }

  init(value: Duration) {
    self.value = value
  }

  init?(argument: String) {
    let digits = argument.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits), number > 0 || digits == "0", number <= 1_000_000 else { return nil }
    switch argument.dropFirst(digits.count) {
    case "ms": value = .milliseconds(number)
    case "s", "": value = .seconds(number)
    case "m": value = .seconds(number * 60)
    default: return nil
    }
  }
}

/// Why there is nothing to report.
struct LoadError: Error, CustomStringConvertible {
  var description: String
}
