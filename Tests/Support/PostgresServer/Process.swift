// Programs, started without Foundation.

internal import Glibc

enum Process {
  /// With its output in a file; waits for its end.
  static func run(_ command: [String], output: String) -> Int32 {
    let file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { return -1 }
    defer { close(file) }
    let child = spawn(command, environment: [], standardInput: nil, output: file)
    guard child > 0 else { return -1 }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 { if errno != EINTR { return -1 } }
    return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
  }

  /// -1 where it cannot be started.
  static func spawn(
    _ command: [String], environment: [String], standardInput: Int32?, output: Int32? = nil
  ) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let standardInput {
      posix_spawn_file_actions_adddup2(&actions, standardInput, STDIN_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
      posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
    } else {
      // Nobody waits for the end of our output because of it.
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    var child: pid_t = -1
    let arguments = command.map { strdup($0) } + [nil]
    let variables = (environment + ["PATH=/usr/bin:/bin", "LC_ALL=C"]).map { strdup($0) } + [nil]
    defer { for string in arguments + variables { free(string) } }
    return posix_spawn(&child, command[0], &actions, nil, arguments, variables) == 0 ? child : -1
  }

  static func contents(of path: String) throws -> String {
    guard let file = fopen(path, "rb") else { throw PostgresServer.Failure(description: "no \(path)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }
}
