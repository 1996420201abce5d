// Takes connections off a listening socket and hands them to the shards in turn.

import CEpoll
import Glibc

/// Lives on one shard. Handing round from one acceptor spreads few connections evenly, which SO_REUSEPORT does not.
final class Acceptor: ReadinessHandler {
  /// Connections taken in one go, so that a burst of them does not hold up the calls.
  private static let batchSize = 64
  /// When descriptors or memory ran out. The listener stays readable meanwhile, so it is not watched.
  private static let pauseTime = Duration.milliseconds(100)
  private static let resumeTimer: UInt32 = 0

  private let listener: ListeningSocket
  private let tls: RPCServerTLS?
  private let shard: RPCShard
  private let parts: [ShardConfined<ServerShard>]
  private let register: ConnectionRegister
  private var key: UInt64?
  private var nextPart = 0

  init(
    listener: ListeningSocket, tls: RPCServerTLS?, shard: RPCShard, parts: [ShardConfined<ServerShard>],
    register: ConnectionRegister
  ) {
    self.listener = listener
    self.tls = tls
    self.shard = shard
    self.parts = parts
    self.register = register
  }

  /// False when the kernel cannot watch another descriptor.
  func start() -> Bool {
    key = shard.register(self, descriptor: listener.descriptor, for: .readable)
    return key != nil
  }

  func stop() {
    if let key { shard.unregister(key, descriptor: listener.descriptor) }
    key = nil
    listener.close()
  }

  func ready(_ readiness: Readiness) {
    for _ in 0..<Self.batchSize {
      switch listener.accept() {
      case .accepted(let descriptor, let peer): handOver(descriptor, peer)
      case .none: return
      case .outOfResources:
        pause()
        return
      }
    }
  }

  func timerExpired(_ tag: TimerTag) {
    guard let key else { return }
    shard.watch(key, descriptor: listener.descriptor, for: .readable)
  }

  func write() {}

  private func handOver(_ descriptor: Int32, _ peer: SocketAddress) {
    switch register.arrived(from: peer, keeper: nextPart) {
    case .refuse:
      close(descriptor)
      return
    case .admit(let id):
      serve(descriptor, id, peer)
    case .admitClosing(let id, let evicted, let keeper):
      let part = parts[keeper]
      part.value.shard.execute { part.value.evict(evicted) }
      serve(descriptor, id, peer)
    }
  }

  private func serve(_ descriptor: Int32, _ id: ConnectionSlots.ID, _ peer: SocketAddress) {
    let part = parts[nextPart]
    nextPart = (nextPart + 1) % parts.count
    part.value.shard.execute { [tls] in part.value.serve(descriptor, id, from: peer, tls: tls) }
  }

  private func pause() {
    guard let key else { return }
    shard.watch(key, descriptor: listener.descriptor, for: [])
    _ = shard.setTimer(at: shard.now.advanced(by: Self.pauseTime), for: key, tag: TimerTag(kind: Self.resumeTimer))
  }
}
