// `touchstone serve`: the service, until it is told to stop.

internal import ArgumentParser
internal import DispatchRPC
internal import Glibc
internal import Logging

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve gRPC until SIGTERM.",
    discussion: """
      Prints "listening on ADDRESS" for each address when it is ready. SIGTERM or SIGINT drains and exits 0. SIGHUP \
      reads policies, callers, vendors, certificates and keys anew: all of them or, where anything is wrong, none.
      """)

  @Option(
    help: ArgumentHelp(
      "Address to listen on, once for each: HOST:PORT or unix:PATH. Port 0 takes a free one.", valueName: "address"))
  var listen: [String] = []

  @Option(help: ArgumentHelp("Where SQLite's database and the keys live. Made on first start.", valueName: "directory"))
  var dataDir: String?

  @OptionGroup var location: StoreOption

  @Option(
    help: ArgumentHelp(
      """
      Where the keys are: a directory, or a file that `touchstone keys export` wrote. Else TOUCHSTONE_KEYS holds them, else \
      the configuration says where, else they are in the data directory, under keys, where SQLite's first start makes them.
      """, valueName: "path"))
  var keys: String?

  @Option(help: "Event loops; one for each core unless given.")
  var shards: Int?

  @Option(help: ArgumentHelp("YAML settings; flags come first.", valueName: "file"))
  var config: String?

  @Flag(
    help: """
      Serve plaintext beyond this machine, to the caller that the configuration names "plaintext". Only where something \
      in front adds TLS and knows who calls.
      """)
  var allowPlaintext = false

  func validate() throws {
    if let shards, !(1...ProcessConfiguration.maximumShards).contains(shards) {
      throw ValidationError("--shards must be from 1 to \(ProcessConfiguration.maximumShards)")
    }
  }

  /// A call that runs longer than this is cut: supervisors send SIGKILL after 30 s or so.
  private static let grace = Duration.seconds(20)

  func run() throws {
    // Both before any thread is made: threads inherit the mask, and may read the environment.
    let signals = Signals()
    let keysOfEnvironment = KeySource.takeFromEnvironment()
    do throws(Failure) {
      let store = try location.take()
      let effectiveConfiguration = { () throws(Failure) in try self.effectiveConfiguration(keysOfEnvironment, store) }
      let logger = standardErrorLogger()
      let configuration = try effectiveConfiguration()
      let service = try RunningService.start(configuration, logger: logger)
      for address in service.addresses { printLine("listening on \(address)") }
      var reload = Reload(service: service, served: configuration, logger: logger)
      while signals.waitForReload() { reload.run(effectiveConfiguration) }
      service.stop(grace: Self.grace) { Glibc.exit(EXIT_SUCCESS) }
    } catch {
      fail(error)
    }
    // A second signal means at once.
    Glibc.exit(128 + signals.waitToStop())
  }

  private func effectiveConfiguration(
    _ keysOfEnvironment: KeySource?, _ store: StoreSetting?
  ) throws(Failure) -> ProcessConfiguration {
    var configuration = try ProcessConfiguration.load(config)
    if !listen.isEmpty { configuration.listen = listen }
    if let dataDir { configuration.dataDirectory = dataDir }
    if let store { configuration.store = store }
    if let source = keys.map({ .path($0) }) ?? keysOfEnvironment { configuration.keys = source }
    if let shards { configuration.shards = shards }
    configuration.allowsPlaintextBeyondLoopback = allowPlaintext
    return configuration
  }
}

/// Log lines go to stderr: stdout is for what scripts read.
func standardErrorLogger() -> Logger {
  Logger(label: "touchstone") { StreamLogHandler.standardError(label: $0) }
}

/// SIGTERM, SIGINT and SIGHUP, blocked from now on and taken by whoever waits: none is lost, however early it
/// comes.
private struct Signals {
  private var set = sigset_t()

  private let hasTerminal = isatty(STDIN_FILENO) == 1

  init() {
    // A peer that is gone is an error of the write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGHUP)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// The number of the next one. Blocks the thread, which has nothing else to do.
  func wait() -> Int32 {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  /// `false`: it is to end. A terminal that was closed says so by the same signal, and is none from then on.
  func waitForReload() -> Bool {
    wait() == SIGHUP && (!hasTerminal || isatty(STDIN_FILENO) == 1)
  }

  /// There is nothing left to reload.
  func waitToStop() -> Int32 {
    while true {
      let number = wait()
      if number != SIGHUP { return number }
    }
  }
}
