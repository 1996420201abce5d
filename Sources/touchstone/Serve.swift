// `touchstone serve`: the service, until it is told to stop.

internal import ArgumentParser
internal import Dispatch
internal import DispatchRPC
internal import Glibc
internal import Logging

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve gRPC until SIGTERM.",
    discussion: "Prints \"listening on HOST:PORT\" when it is ready. SIGTERM or SIGINT drains and exits 0.")

  @Option(help: ArgumentHelp("Address to listen on. Port 0 takes a free one.", valueName: "host:port"))
  var listen: String?

  @Option(help: ArgumentHelp("Where the database and the keys live. Made on first start.", valueName: "directory"))
  var dataDir: String?

  @Option(help: "Event loops; one for each core unless given.")
  var shards: Int?

  @Option(help: ArgumentHelp("YAML settings; flags come first.", valueName: "file"))
  var config: String?

  @Flag(help: "Serve plaintext beyond this machine. Only behind something that adds TLS and callers' identities.")
  var allowPlaintext = false

  func validate() throws {
    if let shards, !(1...ProcessConfiguration.maximumShards).contains(shards) {
      throw ValidationError("--shards must be from 1 to \(ProcessConfiguration.maximumShards)")
    }
  }

  func run() throws {
    do throws(Failure) {
      let service = try RunningService.start(try effectiveConfiguration(), logger: standardErrorLogger())
      // Before the line: whoever reads it may signal at once.
      StopSignals.stop(service)
      printLine("listening on \(service.address)")
    } catch {
      fail(error)
    }
    dispatchMain()
  }

  private func effectiveConfiguration() throws(Failure) -> ProcessConfiguration {
    var configuration = ProcessConfiguration()
    if let config {
      do throws(ConfigurationError) {
        configuration = try ProcessConfiguration.load(path: config)
      } catch {
        throw Failure(status: .badConfiguration, message: error.description)
      }
    }
    if let listen { configuration.listen = listen }
    if let dataDir { configuration.dataDirectory = dataDir }
    if let shards { configuration.shards = shards }
    let endpoint = try Endpoint(parsing: configuration.listen)
    guard allowPlaintext || endpoint.isLoopback else {
      throw Failure(
        status: .badConfiguration,
        message: "\(configuration.listen) is reached from beyond this machine: plaintext there needs --allow-plaintext")
    }
    return configuration
  }
}

/// Log lines go to stderr: stdout is for what scripts read.
func standardErrorLogger() -> Logger {
  Logger(label: "touchstone") { StreamLogHandler.standardError(label: $0) }
}

/// SIGTERM and SIGINT, turned into an orderly end.
private enum StopSignals {
  /// A call that runs longer than this is cut: supervisors send SIGKILL after 30 s or so.
  private static let grace = Duration.seconds(20)

  /// Kept for the life of the process. Guard: both are touched on the main thread alone, by `stop` before
  /// `dispatchMain` and by the handlers on the main queue after it.
  private nonisolated(unsafe) static var sources: [any DispatchSourceSignal] = []
  private nonisolated(unsafe) static var isStopping = false

  static func stop(_ service: RunningService) {
    // A peer that is gone is an error of the write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGTERM, SIGINT] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
      source.setEventHandler {
        // A second signal means at once.
        if isStopping { exit(128 + number) }
        isStopping = true
        service.stop(grace: grace) { exit(0) }
      }
      source.activate()
      sources.append(source)
    }
  }
}
