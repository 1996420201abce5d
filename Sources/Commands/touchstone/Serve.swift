// `touchstone serve`: runs the service until a signal stops it.

internal import ArgumentParser
internal import CProcess
internal import CommandVersion
internal import DispatchRPC
internal import Glibc
internal import Logging
internal import TouchstoneServer

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve gRPC until SIGTERM.",
    discussion: """
      Prints "listening on ADDRESS" for each address when it is ready, and "listening on URL" for each of HTTP. SIGTERM \
      or SIGINT drains and exits 0. SIGHUP reads policies, callers, operators, vendors, certificates and keys anew: all of \
      them or, where anything is wrong, none.
      """)

  @Option(
    help: ArgumentHelp(
      "Address to listen on, once for each: HOST:PORT or unix:PATH. Port 0 takes a free one.", valueName: "address"))
  var listen: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      Address on this machine for HTTP: the keys that verify tokens, health, metrics, the console. The configuration \
      (http) may name addresses for other machines.
      """, valueName: "address"))
  var http: String?

  @Option(
    help: ArgumentHelp("The directory of SQLite's database and the keys. Made on first start.", valueName: "directory"))
  var dataDir: String?

  @OptionGroup var location: StoreOption

  @Option(
    help: ArgumentHelp(
      """
      The keys: a directory, or a file that `touchstone keys export` wrote. Otherwise those of TOUCHSTONE_KEYS; otherwise \
      those that the configuration names; otherwise those in the data directory, under keys, which SQLite's first start makes.
      """, valueName: "path"))
  var keys: String?

  @Option(help: "Event loops; one for each core that the process may use unless given.")
  var shards: Int?

  @Option(help: ArgumentHelp("YAML settings; flags take precedence.", valueName: "file"))
  var config: String?

  @Flag(
    help: """
      Serve other machines in plaintext, as the caller "plaintext" of the configuration. Use it only behind a proxy that \
      adds TLS and authenticates callers.
      """)
  var allowPlaintext = false

  func validate() throws {
    if let shards, !(1...ProcessConfiguration.maximumShards).contains(shards) {
      throw ValidationError("--shards must be from 1 to \(ProcessConfiguration.maximumShards)")
    }
  }

  /// Longer calls are ended, because supervisors send SIGKILL after some 30 s.
  private static let grace = Duration.seconds(20)

  func run() throws {
    // Both before there are other threads, which inherit the mask and may read the environment.
    let signals = Signals()
    let keysOfEnvironment = KeySource.takeFromEnvironment()
    do throws(Failure) {
      let store = try location.take()
      let effectiveConfiguration = { () throws(Failure) in try self.effectiveConfiguration(keysOfEnvironment, store) }
      let logger = standardErrorLogger()
      let configuration = try effectiveConfiguration()
      let service = try RunningService.start(
        configuration, logger: logger, cores: cprocess_usable_cores(), version: CommandVersion.text)
      for address in service.addresses { printLine("listening on \(address)") }
      for url in service.urls { printLine("listening on \(url)") }
      service.serve(configuration, logger: logger, until: signals.next, reading: effectiveConfiguration)
      service.stop(grace: Self.grace) { Glibc.exit(EXIT_SUCCESS) }
    } catch {
      fail(error)
    }
    // A second signal ends the process at once.
    Glibc.exit(128 + signals.waitToStop())
  }

  private func effectiveConfiguration(
    _ keysOfEnvironment: KeySource?, _ store: StoreSetting?
  ) throws(Failure) -> ProcessConfiguration {
    var configuration = try ProcessConfiguration.load(config)
    if !listen.isEmpty { configuration.listen = listen }
    if let http { configuration.http = HTTPSettings(sharedBy: http) }
    if let dataDir { configuration.dataDirectory = dataDir }
    if let store { configuration.store = store }
    if let source = keys.map({ .path($0) }) ?? keysOfEnvironment { configuration.keys = source }
    if let shards { configuration.shards = shards }
    configuration.allowsPlaintextBeyondLoopback = allowPlaintext
    return configuration
  }
}

/// Log lines go to stderr, because scripts read stdout.
func standardErrorLogger() -> Logger {
  Logger(label: "touchstone") { StreamLogHandler.standardError(label: $0) }
}

/// SIGTERM, SIGINT and SIGHUP, which are blocked from now on and taken by `wait`: even an early signal is not lost.
private struct Signals {
  private var set = sigset_t()

  private let hasTerminal = isatty(STDIN_FILENO) == 1

  init() {
    // A write to a closed connection must return an error, not end the process.
    signal(SIGPIPE, SIG_IGN)
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGHUP)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Returns the number of the next signal. Blocks the thread, which has no other work.
  func wait() -> Int32 {
    var set = set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  /// A terminal that closes also sends SIGHUP. Stdin is no terminal any more then, and the service stops.
  func next() -> ServiceEvent {
    wait() == SIGHUP && (!hasTerminal || isatty(STDIN_FILENO) == 1) ? .reload : .stop
  }

  /// Ignores reloads.
  func waitToStop() -> Int32 {
    while true {
      let number = wait()
      if number != SIGHUP { return number }
    }
  }
}
