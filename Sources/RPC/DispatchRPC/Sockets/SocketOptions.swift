import CEpoll
import Glibc

/// Answers leave at once: we write whole batches anyway.
func setNoDelay(_ descriptor: Int32) {
  setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
}

func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32) {
  var on: Int32 = 1
  setsockopt(descriptor, level, name, &on, socklen_t(MemoryLayout<Int32>.size))
}

/// How long what was sent may stay unacknowledged (TCP_USER_TIMEOUT). Nothing happens on a Unix socket.
func setUserTimeout(_ descriptor: Int32, _ duration: Duration) {
  var milliseconds = UInt32(clamping: duration.wholeNanoseconds / 1_000_000)
  setsockopt(
    descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<UInt32>.size))
}

/// Connecting, without waiting for it; `nil` when it fails at once, as a Unix socket does whose backlog is full.
func makeConnectingSocket(_ address: SocketAddress) -> Int32? {
  let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  let descriptor = socket(address.family, type, 0)
  guard descriptor >= 0 else { return nil }
  if !address.isUnix { setNoDelay(descriptor) }
  let result = address.withSocketAddress { connect(descriptor, $0, $1) }
  guard result == 0 || errno == EINPROGRESS else {
    close(descriptor)
    return nil
  }
  return descriptor
}
