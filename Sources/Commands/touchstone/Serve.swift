// `touchstone serve`: runs the service until a signal stops it.

internal import ArgumentParser
internal import CProcess
internal import CommandProgram
internal import Glibc
internal import Logging
internal import TouchstoneServer

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve gRPC until SIGTERM.",
    usage: "touchstone serve [--config <file>] [--allow-plaintext] [--KEY <value> ...]",
    discussion: """
      Prints "listening on ADDRESS" for each address when it is ready, and "listening on URL" for each of HTTP. SIGTERM \
      or SIGINT drains and exits 0. It reads policies, callers, operators, vendors, certificates and keys anew \
      when their files change, and on SIGHUP: all of them or, where anything is wrong, none.

      Each key of the configuration is a flag, too, and a variable of the environment: limits.connections is \
      --limits-connections and TOUCHSTONE_LIMITS_CONNECTIONS. A flag takes precedence over a variable, and a variable over \
      the file.
      """)

  @OptionGroup var settings: SettingOptions

  @Flag(
    help: """
      Serve other machines in plaintext, as the caller "plaintext" of the configuration. Use it only behind a proxy that \
      adds TLS and authenticates callers.
      """)
  var allowPlaintext = false

  /// Longer calls are ended, because supervisors send SIGKILL after some 30 s.
  private static let grace = Duration.seconds(20)

  func run() throws {
    // Both before there are other threads, which inherit the mask and may read the environment.
    let signals = Signals()
    do throws(Failure) {
      let sources = try settings.sources()
      let effectiveConfiguration = { () throws(Failure) in
        var configuration = try sources.load(settings.config)
        configuration.allowsPlaintextBeyondLoopback = allowPlaintext
        return configuration
      }
      let configuration = try effectiveConfiguration()
      let log = LogOutput(configuration.log)
      let logger = log.logger
      if settings.config == nil, let file = sources.missingDefaultFile {
        logger.notice("there is no \(file): settings come from variables and flags alone, until the next start")
      }
      let service: RunningService
      do throws(Failure) {
        service = try RunningService.start(
          configuration, logger: logger, log: log, cores: cprocess_usable_cores(), version: Program.version)
      } catch {
        // Before the failure is printed, which is the last line.
        log.flush()
        throw error
      }
      // The service goes on if these lines cannot be written.
      for place in service.addresses.map(String.init(describing:)) + service.urls {
        Program.write("listening on \(place)\n", to: STDOUT_FILENO)
      }
      service.serve(configuration, logger: logger, until: signals.next(within:), reading: effectiveConfiguration)
      service.stop(grace: Self.grace) {
        log.flush()
        Program.end(EXIT_SUCCESS)
      }
    } catch {
      fail(error)
    }
    // A second signal ends the process at once.
    Program.end(128 + signals.waitToStop())
  }
}

/// For commands that end. Log lines go to stderr, because scripts read stdout; each decision is no news there.
func standardErrorLogger() -> Logger {
  var logger = Logger(label: "touchstone") { StreamLogHandler.standardError(label: $0) }
  logger.logLevel = .notice
  return logger
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

  /// Waits no longer than the time, if there is one.
  func next(within time: Duration?) -> ServiceEvent {
    guard let number = time.map(wait(for:)) ?? wait() else { return .look }
    // A terminal that closes also sends SIGHUP. Stdin is no terminal any more then, and the service stops.
    return number == SIGHUP && (!hasTerminal || isatty(STDIN_FILENO) == 1) ? .reload : .stop
  }

  /// Returns `nil` if no signal comes in that time, or something else interrupts the wait.
  private func wait(for time: Duration) -> Int32? {
    var set = set
    let (seconds, attoseconds) = time.components
    let number = cprocess_wait_for_signal(&set, Int(seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
    return number == 0 ? nil : number
  }

  /// Ignores reloads.
  func waitToStop() -> Int32 {
    while true {
      let number = wait()
      if number != SIGHUP { return number }
    }
  }
}
