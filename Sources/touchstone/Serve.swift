// `touchstone serve`: the service, until it is told to stop.

internal import ArgumentParser
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

  /// A call that runs longer than this is cut: supervisors send SIGKILL after 30 s or so.
  private static let grace = Duration.seconds(20)

  func run() throws {
    // Before any thread is made, since threads inherit the mask.
    let signals = StopSignals()
    do throws(Failure) {
      let service = try RunningService.start(try effectiveConfiguration(), logger: standardErrorLogger())
      printLine("listening on \(service.address)")
      _ = signals.wait()
      service.stop(grace: Self.grace) { Glibc.exit(EXIT_SUCCESS) }
    } catch {
      fail(error)
    }
    // A second signal means at once.
    Glibc.exit(128 + signals.wait())
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
    configuration.allowsPlaintextBeyondLoopback = allowPlaintext
    return configuration
  }
}

/// Log lines go to stderr: stdout is for what scripts read.
func standardErrorLogger() -> Logger {
  Logger(label: "touchstone") { StreamLogHandler.standardError(label: $0) }
}

/// SIGTERM and SIGINT, blocked from now on and taken by whoever waits: none is lost, however early it comes.
private struct StopSignals {
  private var set = sigset_t()

  init() {
    // A peer that is gone is an error of the write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// The number of the next one. Blocks the thread, which has nothing else to do.
  func wait() -> Int32 {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }
}
