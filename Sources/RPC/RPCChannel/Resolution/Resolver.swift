internal import Dispatch
internal import DispatchPool
internal import DispatchRPC
internal import Synchronization

/// An address that connections go to, and the name that they call it by.
struct ChannelEndpoint: Hashable {
  var address: SocketAddress
  /// `:authority`, and with TLS the name that the server has to prove.
  var authority: String
}

/// Turns a target's names into addresses, off every event loop, because getaddrinfo(3) blocks.
final class Resolver: Sendable {
  /// More are not used: a name that stands for so many is balanced behind each of them.
  private static let mostEndpoints = 256

  private let target: Result<ChannelTarget, TargetError>
  private let schedule: Mutex<ResolutionSchedule>
  private let queue = DispatchQueue(label: "rpc.channel.resolver")
  private let report: @Sendable (Result<[ChannelEndpoint], TargetError>) -> Void

  /// - Parameter report: runs on a queue of the resolver's.
  init(
    target: String, interval: Duration, backoff: BackoffConfiguration,
    report: @escaping @Sendable (Result<[ChannelEndpoint], TargetError>) -> Void
  ) {
    self.target = Result { () throws(TargetError) in try ChannelTarget(target) }
    schedule = Mutex(ResolutionSchedule(interval: interval, backoff: backoff))
    self.report = report
  }

  /// A report follows, soon or when it is time again.
  func resolve() {
    perform(schedule.withLock { $0.asked(at: .now()) })
  }

  /// The timer does not keep the resolver: an owner that drops it wants no more reports.
  private func perform(_ step: ResolutionSchedule.Step) {
    switch step {
    case .none:
      break
    case .resolveNow:
      queue.async { [weak self] in self?.lookUp() }
    case .wait(let time):
      queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time.nanoseconds)) { [weak self] in
        guard let self else { return }
        perform(schedule.withLock { $0.timerFired() })
      }
    }
  }

  private func lookUp() {
    let result = target.flatMap { target in
      Result { () throws(TargetError) in try Self.endpoints(of: target) }
    }
    report(result)
    let now = MonotonicTime.now()
    switch result {
    case .success: schedule.withLock { $0.succeeded(at: now) }
    case .failure: perform(schedule.withLock { $0.failed(at: now, jitter: .random(in: -1...1)) })
    }
  }

  /// Returns the endpoints that the names resolve to now; throws if there are none.
  private static func endpoints(of target: ChannelTarget) throws(TargetError) -> [ChannelEndpoint] {
    var endpoints: [ChannelEndpoint] = []
    var reasons: [String] = []
    switch target {
    case .unix(let path):
      do throws(SocketAddressError) {
        endpoints.append(ChannelEndpoint(address: try .unix(path: path), authority: "localhost"))
      } catch {
        reasons.append("\(path): \(error.reason)")
      }
    case .names(let names):
      for name in names {
        do throws(SocketAddressError) {
          for address in try SocketAddress.resolve(host: name.host, port: name.port) {
            endpoints.append(ChannelEndpoint(address: address, authority: name.authority))
          }
        } catch {
          reasons.append("\(name.host): \(error.reason)")
        }
      }
    }
    guard !endpoints.isEmpty else {
      throw TargetError(reason: reasons.isEmpty ? "the target has no address" : reasons.joined(separator: "; "))
    }
    return Array(endpoints.prefix(mostEndpoints))
  }
}

/// The knot of a channel: the pool asks its resolver, whose answers go to the pool, and neither keeps the other alive.
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

/// The endpoints behind the numbers by which the pool names them.
struct EndpointRegistry {
  private var ids: [ChannelEndpoint: EndpointID] = [:]
  private var endpoints: [EndpointID: ChannelEndpoint] = [:]
  private var nextNumber = 0

  subscript(_ id: EndpointID) -> ChannelEndpoint? { endpoints[id] }

  /// An endpoint that is known keeps its name.
  mutating func enter(_ found: [ChannelEndpoint]) -> [EndpointID] {
    found.map { endpoint in
      if let id = ids[endpoint] { return id }
      let id = EndpointID(nextNumber)
      nextNumber += 1
      ids[endpoint] = id
      endpoints[id] = endpoint
      return id
    }
  }

  mutating func forgetAll(but kept: Set<EndpointID>) {
    for (id, endpoint) in endpoints where !kept.contains(id) {
      endpoints[id] = nil
      ids[endpoint] = nil
    }
  }
}
