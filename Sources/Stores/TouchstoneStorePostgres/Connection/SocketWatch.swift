// Waits until a connection's socket can be read or written.

internal import CEpoll
internal import Dispatch
internal import Glibc

/// The socket is in an epoll instance of its own, and Dispatch watches that one. When a socket hangs up, Dispatch first
/// tells its source and then takes the descriptor's number out of Dispatch's own instance; by then the number may be
/// somebody else's, who is never woken again, and what Dispatch had noted of it may be freed
/// (`_dispatch_event_merge_fd` of libdispatch 6.3, github.com/swiftlang/swift-corelibs-libdispatch/issues/949). An
/// epoll instance does not hang up.
///
/// All calls come on the queue, and so do the handlers.
final class SocketWatch {
  private let poller: Int32
  private let source: any DispatchSourceRead

  enum Interest {
    case reading
    case writing
    case both

    fileprivate var events: UInt32 {
      switch self {
      case .reading: EPOLLIN.rawValue
      case .writing: EPOLLOUT.rawValue
      case .both: EPOLLIN.rawValue | EPOLLOUT.rawValue
      }
    }
  }

  /// - Parameters:
  ///   - ready: runs as long as there is something to do, and also when the socket has failed.
  ///   - ended: runs once, after `cancel()`.
  init?(
    on queue: DispatchQueue, ready: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void
  ) {
    let poller = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard poller >= 0 else { return nil }
    self.poller = poller
    source = DispatchSource.makeReadSource(fileDescriptor: poller, queue: queue)
    source.setEventHandler(handler: ready)
    source.setCancelHandler {
      close(poller)
      ended()
    }
    source.activate()
  }

  /// A socket that is closed is no longer watched. False: the kernel has no memory left, or there is no such socket.
  func watch(_ socket: Int32, for interest: Interest) -> Bool {
    var event = epoll_event()
    event.events = interest.events
    return epoll_ctl(poller, EPOLL_CTL_MOD, socket, &event) == 0
      || epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event) == 0
  }

  func cancel() {
    source.cancel()
  }
}
