import CEpoll
import Glibc

/// Keeps the connections of one event loop.
package protocol ConnectionKeeper: AnyObject, SendableMetatype {
  /// Takes over an accepted descriptor, which has a place already.
  func serve(_ descriptor: Int32, _ id: ConnectionSlots.ID, from address: SocketAddress, tls: RPCServerTLS?)
  /// Another connection has its place now.
  func evict(_ id: ConnectionSlots.ID)
}

/// Connections taken in one go, so that a burst of them does not hold up the calls.
private let batchSize = 64
/// When descriptors or memory ran out, and no stranger makes room. The listener stays readable meanwhile, so it is not
/// watched.
private let pauseTime = Duration.milliseconds(100)
private let resumeTimer: UInt32 = 0

/// Takes connections off a listening socket and hands them to the event loops in turn. Lives on one event loop. Handing
/// round from one acceptor spreads few connections evenly, which SO_REUSEPORT does not.
package final class Acceptor<Keeper: ConnectionKeeper>: ReadinessHandler {
  private let listener: ListeningSocket
  private let tls: RPCServerTLS?
  private let loop: EventLoop
  private let loops: [LoopConfined<Keeper>]
  private let register: ConnectionRegister
  private var key: UInt64?
  private var nextLoop = 0
  private let onOutOfDescriptors: (@Sendable () -> Void)?
  /// False from an eviction to the next accepted connection, or to the end of the pause: if it was in vain, because
  /// others take what becomes free, the next stranger stays for that long.
  private var mayEvict = true
  private var pauseTimer: EventLoop.TimerHandle?

  package init(
    listener: ListeningSocket, tls: RPCServerTLS?, loop: EventLoop, loops: [LoopConfined<Keeper>],
    register: ConnectionRegister, onOutOfDescriptors: (@Sendable () -> Void)?
  ) {
    self.listener = listener
    self.tls = tls
    self.loop = loop
    self.loops = loops
    self.register = register
    self.onOutOfDescriptors = onOutOfDescriptors
  }

  /// False when the kernel cannot watch another descriptor.
  package func start() -> Bool {
    key = loop.register(self, descriptor: listener.descriptor, for: .readable)
    return key != nil
  }

  package func stop() {
    if let key { loop.unregister(key, descriptor: listener.descriptor) }
    key = nil
    listener.close()
  }

  package func ready(_ readiness: Readiness) {
    for _ in 0..<batchSize {
      switch listener.accept() {
      case .accepted(let descriptor, let peer):
        mayEvict = true
        handOver(descriptor, peer)
      case .none: return
      case .outOfResources:
        onOutOfDescriptors?()
        pause()
        makeRoom()
        return
      }
    }
  }

  package func timerExpired(_ tag: TimerTag) {
    pauseTimer = nil
    mayEvict = true
    resume()
  }

  package func write() {}

  private func handOver(_ descriptor: Int32, _ peer: SocketAddress) {
    switch register.arrived(from: peer, keeper: nextLoop) {
    case .refuse:
      close(descriptor)
      return
    case .admit(let id):
      serve(descriptor, id, peer)
    case .admitEnding(let id, let eviction):
      loops[eviction.member].execute { $0.evict(eviction.id) }
      serve(descriptor, id, peer)
    }
  }

  private func serve(_ descriptor: Int32, _ id: ConnectionSlots.ID, _ peer: SocketAddress) {
    let next = loops[nextLoop]
    nextLoop = (nextLoop + 1) % loops.count
    next.execute { [tls] in $0.serve(descriptor, id, from: peer, tls: tls) }
  }

  private func pause() {
    guard let key else { return }
    loop.watch(key, descriptor: listener.descriptor, for: [])
    pauseTimer = loop.setTimer(
      at: loop.now.advanced(by: pauseTime), for: key, tag: TimerTag(kind: resumeTimer))
  }

  /// Closes the oldest stranger as at the limit of connections, and then accepts again at once.
  private func makeRoom() {
    guard mayEvict, let eviction = register.makeRoom() else { return }
    mayEvict = false
    let acceptor = LoopConfined(self, on: loop)
    loops[eviction.member].execute {
      $0.evict(eviction.id)
      acceptor.execute { $0.resume() }
    }
  }

  private func resume() {
    guard let key else { return }
    if let pauseTimer { loop.cancelTimer(pauseTimer) }
    pauseTimer = nil
    loop.watch(key, descriptor: listener.descriptor, for: .readable)
  }
}
