// Events that control a running service. A process gets them from signals, a test makes its own.

package import Logging

package enum ServiceEvent: Sendable {
  /// Read the configuration and the keys again.
  case reload
  /// Take no more events; `RunningService.stop` is next.
  case stop
}

extension RunningService {
  /// Reloads at each `reload`, and returns at the first `stop`.
  ///
  /// - Parameters:
  ///   - configuration: the one with which the service was started.
  ///   - next: waits for the next event.
  ///   - read: reads the present configuration and applies the flags.
  package func serve(
    _ configuration: ProcessConfiguration, logger: Logger, until next: () -> ServiceEvent,
    reading read: () throws(Failure) -> ProcessConfiguration
  ) {
    var reload = Reload(service: self, served: configuration, logger: logger)
    while next() == .reload { reload.run(read) }
  }
}
