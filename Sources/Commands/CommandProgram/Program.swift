// The process of a command line program, from its arguments to its end: `touchstone` and `touchstone-load` alike.

package import ArgumentParser
internal import Glibc
internal import TerminalText

package enum Program {
  /// The first line of the file VERSION, which the build embeds.
  package static var version: String {
    String(decoding: PackageResources.VERSION.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// The arguments of the command line, without the program's name.
  ///
  /// The kernel's copy is read, because Swift's runtime finds the arguments beside the environment: after a preloaded
  /// library sets a variable, as injectors of telemetry do, the runtime has none.
  package static var arguments: [String] {
    let all = kernelArguments() ?? CommandLine.arguments
    return Array(all.dropFirst())
  }

  /// Parses the arguments, and runs the command that they name. Returns only if the command goes on in other threads.
  ///
  /// A group of commands alone does nothing, so naming no command of it is a usage error (64, EX_USAGE) and not a
  /// success.
  package static func run(_ root: any ParsableCommand.Type, _ arguments: [String] = arguments) {
    holdStandardStreams()
    do {
      var command = try root.parseAsRoot(arguments)
      let type = type(of: command)
      if !type.configuration.subcommands.isEmpty {
        write(root.helpMessage(for: type) + "\n", to: STDERR_FILENO)
        end(root.exitCode(for: ValidationError("")).rawValue)
      }
      try command.run()
    } catch {
      end(root, error)
    }
  }

  /// Takes the place of a standard stream that is closed, with what cannot be used that way. Otherwise the next file
  /// that is opened, such as a database, would get what is printed.
  private static func holdStandardStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Prints what ArgumentParser says of the error, for which a request for help counts too, and ends the process.
  private static func end(_ root: any ParsableCommand.Type, _ error: any Error) -> Never {
    let code = root.exitCode(for: error)
    // It quotes arguments.
    let lines = root.fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false)
    let message = lines.map { printable(String($0)) }.joined(separator: "\n")
    if !message.isEmpty {
      write(message + "\n", to: code.isSuccess ? STDOUT_FILENO : STDERR_FILENO)
    }
    end(code.rawValue)
  }

  /// Flushes what was printed and ends the process without exit handlers.
  ///
  /// OpenSSL's handler frees the state of every thread without a lock, while event loops, verifiers and libpq's threads
  /// still use or end theirs: `exit` sometimes died of a double free. The kernel takes back all that those handlers
  /// would free.
  package static func end(_ status: Int32) -> Never {
    fflush(nil)
    _exit(status)
  }

  /// Writes to the descriptor at once, past stdio, which would hold the text back if the descriptor is a pipe.
  ///
  /// - Returns: the error's number, or 0.
  @discardableResult package static func write(_ text: String, to descriptor: Int32) -> Int32 {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return errno }
      bytes = bytes.dropFirst(max(0, count))
    }
    return 0
  }

  /// `nil` if /proc is not mounted.
  private static func kernelArguments() -> [String]? {
    guard let file = fopen("/proc/self/cmdline", "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    // Each argument ends with a NUL, also an empty one.
    guard bytes.last == 0 else { return nil }
    return bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }
}
