// The knot of a channel: the pool asks its resolver, whose answers go to the pool, and neither keeps the other alive.

internal import DispatchPool
internal import Synchronization

final class ChannelResolution: Sendable {
  typealias Report = @Sendable (Result<[ChannelEndpoint], TargetError>) -> Void

  private let target: String
  private let configuration: RPCChannelConfiguration
  private let resolver = Mutex<Resolver?>(nil)

  init(target: String, configuration: RPCChannelConfiguration) {
    self.target = target
    self.configuration = configuration
  }

  /// Once, before the first question.
  func begin(report: @escaping Report) {
    let made = Resolver(
      target: target, interval: configuration.resolutionInterval, backoff: configuration.backoff, report: report)
    resolver.withLock { $0 = made }
  }

  func ask() {
    resolver.withLock { $0 }?.resolve()
  }
}
