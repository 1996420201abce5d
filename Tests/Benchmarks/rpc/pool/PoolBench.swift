// The servers, the channel, and calls in a closed loop.

import Dispatch
import DispatchPool
import DispatchRPC
import Glibc
import RPCChannel
import Synchronization

final class PoolBench: Sendable {
  typealias Call = @Sendable (Int, @escaping @Sendable (Result<RPCResponse, RPCError>) -> Void) -> Void

  let channel: RPCChannel
  private let servers: [RPCServer]
  private let address: String
  private let bare: RPCClientConnection
  private let connected = DispatchSemaphore(value: 0)
  private let message = [UInt8](repeating: 7, count: 100)

  init() throws {
    var router = RPCRouter()
    router.register("/bench/Echo") { call, message in call.respond(Array(message)) }
    router.register("/bench/Flaky") { call, message in
      // Refused unless it is a retry.
      if call.metadata("grpc-previous-rpc-attempts") == nil {
        call.fail(RPCError(code: .unavailable, message: "once more"))
      } else {
        call.respond(Array(message))
      }
    }
    var settings = RPCServerConfiguration(eventLoops: 1)
    settings.maxConcurrentStreams = 100
    servers = (0..<2).map { _ in RPCServer(configuration: settings, router: router) }
    let addresses = try servers.map { try $0.listen(host: "127.0.0.1", port: 0) }
    address = addresses[0].description
    var configuration = RPCChannelConfiguration()
    configuration.balancing = .roundRobin
    channel = RPCChannel(
      target: addresses.map(\.description).joined(separator: ","), configuration: configuration)
    bare = RPCClientConnection(
      address: addresses[0], loop: EventLoop(label: "bench.bare"), configuration: RPCClientConfiguration()
    ) { [connected] event in
      if case .connected = event { connected.signal() }
    }
    bare.connect()
    connected.wait()
  }

  // MARK: Calls

  var callBare: Call {
    { [bare, message] _, done in bare.start(RPCClientRequest(path: "/bench/Echo", message: message), completion: done) }
  }

  var callChannel: Call {
    { [channel, message] _, done in channel.call("/bench/Echo", message, completion: done) }
  }

  var callMixed: Call {
    let retried = RPCCallOptions(attempts: .retry(RPCRetryPolicy(initialBackoff: .milliseconds(1))))
    return { [channel, message] number, done in
      if number % 100 == 7 {
        channel.call("/bench/Flaky", message, options: retried, completion: done)
      } else {
        channel.call("/bench/Echo", message, completion: done)
      }
    }
  }

  /// So many, so many at a time.
  func run(_ count: Int, concurrency: Int, by call: @escaping Call) {
    let progress = Progress(count: count)
    @Sendable func next() {
      guard let number = progress.begin() else { return }
      call(number) { _ in
        progress.end()
        next()
      }
    }
    for _ in 0..<min(count, concurrency) { next() }
    progress.isOver.wait()
  }

  /// µs of CPU a call, of all threads.
  func cost(of count: Int, by call: @escaping Call) -> Double {
    run(count / 10, concurrency: 80, by: call)
    let before = Self.cpuMicroseconds()
    run(count, concurrency: 80, by: call)
    return (Self.cpuMicroseconds() - before) / Double(count)
  }

  /// Channels come and go, too: one that finds nobody, and one that is dropped while its calls run.
  func makeOtherChannels() {
    let ended = Progress(count: 200)
    for target in ["127.0.0.1:1", address] {
      let other = RPCChannel(target: target)
      for _ in 0..<100 { other.call("/bench/Echo", message) { _ in ended.end() } }
    }
    ended.isOver.wait()
  }

  private static func cpuMicroseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }
}

private final class Progress: Sendable {
  let isOver = DispatchSemaphore(value: 0)
  private let count: Int
  private let begun = Atomic(0)
  private let ended = Atomic(0)

  init(count: Int) {
    self.count = count
  }

  func begin() -> Int? {
    let number = begun.add(1, ordering: .relaxed).oldValue
    return number < count ? number : nil
  }

  func end() {
    if ended.add(1, ordering: .relaxed).newValue == count { isOver.signal() }
  }
}
