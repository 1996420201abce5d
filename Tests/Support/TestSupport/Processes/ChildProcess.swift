// Programs, started without Foundation: its `Process` copies a whole dirent of /proc/self/fd where the kernel wrote a
// part of one, and crashes now and then where a thousand descriptors are open, as they are while tests run side by
// side.

internal import CSpawn
@preconcurrency internal import Glibc
internal import Synchronization

/// A running program. Its output, errors too, comes over one pipe; it reads the end of its input at `closeInput()`.
public final class ChildProcess: Sendable {
  public struct Failure: Error {
    public let code: Int32
  }

  private let identifier: pid_t
  /// -1 once it is closed.
  private let input: Atomic<Int32>
  private let isWaitedFor = Atomic(false)
  private let output: Int32

  /// - Parameters:
  ///   - arguments: the program first, found by PATH.
  ///   - variables: as `name=value`, before those of our own environment.
  public init(_ arguments: [String], variables: [String] = []) throws(Failure) {
    let input = try Self.pipe()
    let output = try Self.pipe()
    defer {
      close(input.read)
      close(output.write)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output.write, STDERR_FILENO)
    // Sockets of other tests stay theirs.
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
    var identifier: pid_t = 0
    let strings = arguments.map { strdup($0) } + [nil]
    let additional = variables.map { strdup($0) }
    defer { for string in strings + additional { free(string) } }
    let code = posix_spawnp(&identifier, arguments[0], &actions, nil, strings, additional + Self.environment)
    guard code == 0 else {
      close(input.write)
      close(output.read)
      throw Failure(code: code)
    }
    self.identifier = identifier
    self.input = Atomic(input.write)
    self.output = output.read
  }

  deinit {
    closeInput()
    close(output)
    if !isWaitedFor.load(ordering: .relaxed) { waitElsewhere() }
  }

  /// waitid(2) returns an ended child that is not waited for to any caller that waits for any child: an exit test of
  /// Swift Testing's would never get its own.
  private func waitElsewhere() {
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { identifier in
        while waitpid(pid_t(Int(bitPattern: identifier)), nil, 0) < 0, errno == EINTR {}
        return nil
      }, UnsafeMutableRawPointer(bitPattern: Int(identifier)))
    if code == 0 { pthread_detach(thread) }
  }

  /// Some of its output; empty at the end. Blocks.
  public func read() -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(output, &chunk, chunk.count)
      if count >= 0 { return Array(chunk[..<count]) }
      guard errno == EINTR else { return [] }
    }
  }

  /// Blocks until it has closed its output.
  public func readToEnd() -> [UInt8] {
    var bytes: [UInt8] = []
    while case let chunk = read(), !chunk.isEmpty { bytes += chunk }
    return bytes
  }

  public func closeInput() {
    let descriptor = input.exchange(-1, ordering: .relaxed)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Its status, or minus the signal that ended it. Once; blocks.
  public func waitUntilExit() -> Int32 {
    isWaitedFor.store(true, ordering: .relaxed)
    var status: Int32 = 0
    while waitpid(identifier, &status, 0) < 0 { if errno != EINTR { return -1 } }
    return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
  }

  /// Ends with a `nil`.
  private static var environment: [UnsafeMutablePointer<CChar>?] {
    var end = 0
    while environ[end] != nil { end += 1 }
    return Array(UnsafeBufferPointer(start: environ, count: end + 1))
  }

  private static func pipe() throws(Failure) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw Failure(code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
