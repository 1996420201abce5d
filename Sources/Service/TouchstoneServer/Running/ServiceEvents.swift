// Events that control a running service. A process gets them from signals, a test makes its own.

package import Logging

package enum ServiceEvent: Sendable {
  /// Read the configuration and the keys again.
  case reload
  /// No other event came in the time for which the service asked: look whether files changed.
  case look
  /// Take no more events; `RunningService.stop` is next.
  case stop
}

extension RunningService {
  /// Reloads at each `reload` and when files changed, and returns at the first `stop`.
  ///
  /// - Parameters:
  ///   - configuration: the one with which the service was started.
  ///   - next: waits for the next event, for no longer than the time that it gets, if it gets one.
  ///   - read: reads the present configuration and applies the flags.
  package func serve(
    _ configuration: ProcessConfiguration, logger: Logger, until next: (Duration?) -> ServiceEvent,
    reading read: () throws(Failure) -> ProcessConfiguration
  ) {
    var reload = Reload(service: self, served: configuration, logger: logger)
    var watch = FileWatch(considered: reload.files)
    while true {
      switch next(reload.lookInterval.map(watch.delay(within:))) {
      case .stop: return
      case .reload: reload.run(because: .signal, read)
      case .look:
        guard watch.looked(reload.files.takenAgain, at: .now) == .reload else { continue }
        reload.run(because: .files, read)
      }
      watch = FileWatch(considered: reload.files)
    }
  }
}
