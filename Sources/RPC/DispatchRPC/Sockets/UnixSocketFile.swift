import CEpoll
import Glibc

/// The file that a listening socket is bound to: made with its permissions, taken over from a server that died, and
/// removed at the end. Names it by device and inode, so that no other server's is ever removed.
struct UnixSocketFile {
  /// Others hold the directory's lock for some system calls. A process that holds it for longer than this second is no
  /// server of ours.
  private static let lockAttempts = 100
  private static let lockRetryMicroseconds: UInt32 = 10_000

  private let path: String
  private let device: dev_t
  private let inode: ino_t

  /// Binds the socket, with `permissions` from the first moment on. A socket that no process listens on any more is
  /// replaced; one that is alive is not, nor is a file of another kind.
  static func bind(
    _ descriptor: Int32, to address: SocketAddress, permissions: mode_t
  ) throws(RPCServerError) -> UnixSocketFile {
    let path = address.host
    // One server of the directory at a time: of two that find the same dead socket, the second must not remove the
    // first's.
    let directory = try lockDirectory(of: path)
    defer { close(directory) }
    // The file gets the socket's permissions, less the umask: never more, not for a moment (bind(2) makes it so on
    // Linux).
    fchmod(descriptor, permissions)
    if bind(descriptor, address) != 0 {
      guard errno == EADDRINUSE else { throw failure("bind", path) }
      try removeDead(address)
      guard bind(descriptor, address) == 0 else { throw failure("bind", path) }
    }
    guard let file = UnixSocketFile(path) else { throw failure("stat", path) }
    // Restores the permissions that the umask removed.
    guard chmod(path, permissions) == 0 else {
      defer { file.remove() }
      throw failure("chmod", path)
    }
    return file
  }

  /// If it is still the one that was bound.
  func remove() {
    guard let present = UnixSocketFile(path), present.device == device, present.inode == inode else { return }
    unlink(path)
  }

  /// `nil` when there is no socket.
  private init?(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.path = path
    device = status.st_dev
    inode = status.st_ino
  }

  private static func bind(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
    address.withSocketAddress { Glibc.bind(descriptor, $0, $1) }
  }

  private static func removeDead(_ address: SocketAddress) throws(RPCServerError) {
    guard let file = UnixSocketFile(address.host) else {
      throw RPCServerError(reason: "\(address): there is a file that is not a socket")
    }
    guard isDead(address) else { throw RPCServerError(reason: "\(address): another server listens there") }
    file.remove()
  }

  /// Only a refused connection proves it; a full backlog does not.
  private static func isDead(_ address: SocketAddress) -> Bool {
    let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard probe >= 0 else { return false }
    defer { close(probe) }
    return address.withSocketAddress { connect(probe, $0, $1) } != 0 && errno == ECONNREFUSED
  }

  /// The lock ends with the descriptor.
  private static func lockDirectory(of path: String) throws(RPCServerError) -> Int32 {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw failure("open", parent) }
    for _ in 0..<lockAttempts {
      if flock(directory, LOCK_EX | LOCK_NB) == 0 { return directory }
      usleep(lockRetryMicroseconds)
    }
    defer { close(directory) }
    throw failure("lock", parent)
  }

  private static func failure(_ step: String, _ path: String) -> RPCServerError {
    RPCServerError(reason: "\(step) \(path): \(String(cString: strerror(errno)))")
  }
}
