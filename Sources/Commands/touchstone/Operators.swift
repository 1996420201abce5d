// `touchstone operators …`: makes accounts for the console. It starts and changes nothing.

internal import ArgumentParser
internal import Glibc
internal import TouchstoneCrypto
internal import TouchstoneServer

struct Operators: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The operators of the console.", subcommands: [Hash.self])

  struct Hash: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Hash an operator's password for the configuration.",
      discussion: """
        Reads the password from the terminal, twice and without showing it; otherwise one line from stdin. Prints the hash for \
        `operators:` in the configuration (Argon2id), in the quotes that it needs because of its commas. The password has 12 to 128 bytes and is stored nowhere.
        """)

    func perform() throws(Failure) {
      printLine("\"\(try Self.hash())\"")
    }

    private static func hash() throws(Failure) -> String {
      let password = try read(asking: "Password:")
      let counts = PasswordHash.passwordBytes
      guard counts.contains(password.utf8.count) else {
        throw Failure(
          kind: .usage, message: "the password must be \(counts.lowerBound) to \(counts.upperBound) bytes")
      }
      if isatty(STDIN_FILENO) == 1, try read(asking: "The same again:") != password {
        throw Failure(kind: .usage, message: "the passwords differ")
      }
      do throws(CryptoError) {
        return try PasswordHash.make(of: SecretBytes(password.utf8)).text
      } catch {
        throw Failure(kind: .unavailable, message: "\(error)")
      }
    }

    /// Without echo on a terminal, whose settings are put back also if the reading ends early.
    private static func read(asking prompt: String) throws(Failure) -> String {
      let isTerminal = isatty(STDIN_FILENO) == 1
      var settings = termios()
      if isTerminal {
        tcgetattr(STDIN_FILENO, &settings)
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        // The end of the line alone.
        silent.c_lflag |= tcflag_t(ECHONL)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        printError(prompt)
      }
      let line = readLine()
      if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) }
      guard let line else { throw Failure(kind: .noInput, message: "there is no password on stdin") }
      return line
    }
  }
}
