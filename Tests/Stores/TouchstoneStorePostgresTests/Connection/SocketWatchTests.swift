import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import TouchstoneStorePostgres

struct SocketWatchTests {
  @Test func aSocketIsReadyForWhatIsAskedAndWhenItHangsUp() async throws {
    let (ready, ended) = (Box<Int>(), Box<Void>())
    let queue = DispatchQueue(label: "test")
    var sockets: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
    let (ours, peers) = (sockets[0], sockets[1])
    let made = SocketWatch(
      on: queue,
      ready: {
        var byte: UInt8 = 0
        ready.put(recv(ours, &byte, 1, Int32(MSG_DONTWAIT)))
      }, ended: { ended.put(()) })
    let watch = try #require(made)
    #expect(queue.sync { watch.watch(ours, for: .reading) })
    #expect(send(peers, [1], 1, 0) == 1)
    #expect(await ready.next() == 1)
    #expect(queue.sync { watch.watch(ours, for: .writing) })
    #expect(await ready.next() == -1, "nothing to read")
    #expect(queue.sync { watch.watch(ours, for: .reading) })
    close(peers)
    while await ready.next() != 0 {}
    queue.sync { watch.cancel() }
    await ended.next()
    close(ours)
  }

  /// Many hang up beside others, with descriptors whose numbers Dispatch notes in one place (they are equal modulo
  /// 256). Where Dispatch watches the sockets themselves, the process ends with a signal.
  @Test func hangUpsLeaveDispatchWhole() async {
    await #expect(processExitsWith: .success) {
      var limits = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
      limits.rlim_cur = limits.rlim_max
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
      let descriptors = (0..<3_000).map { _ in dup(STDIN_FILENO) }
      for descriptor in descriptors where descriptor % 256 < 4 { close(descriptor) }
      await withTaskGroup { group in
        for _ in 0..<8 { group.addTask { for _ in 0..<2_500 { await Watching.until(.hangUp) } } }
        for _ in 0..<2 { group.addTask { for _ in 0..<5_000 { await Watching.until(.byte) } } }
      }
    }
  }
}

/// A socket that is watched until its peer does something.
private final class Watching: @unchecked Sendable {
  // Sendable because: `watch` is used on `queue` only.

  enum Event {
    case hangUp
    case byte
  }

  private let queue = DispatchQueue(label: "watching")
  private var watch: SocketWatch?

  static func until(_ event: Event) async {
    let watching = Watching()
    await withCheckedContinuation { over in watching.queue.async { watching.begin(until: event) { over.resume() } } }
  }

  private func begin(until event: Event, _ over: @escaping @Sendable () -> Void) {
    var sockets: [Int32] = [-1, -1]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &sockets) == 0)
    let (ours, peers) = (sockets[0], sockets[1])
    watch = SocketWatch(
      on: queue, ready: { [self] in watch?.cancel() },
      ended: { [self] in
        watch = nil
        close(ours)
        if event == .byte { close(peers) }
        over()
      })
    precondition(watch?.watch(ours, for: .reading) == true)
    switch event {
    case .hangUp: close(peers)
    case .byte: precondition(send(peers, [1], 1, 0) == 1)
    }
  }
}
