// The command line: one binary with a subcommand for each task.

internal import ArgumentParser
internal import CommandProgram

@main
struct Touchstone: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "touchstone",
    abstract: "Server-side policy for biometric login and payment.",
    version: Program.version,
    subcommands: [
      Serve.self, Migrate.self, Backup.self, Restore.self, Restored.self, Healthcheck.self, CheckConfig.self,
      ConfigCommand.self, Policy.self,
      Callers.self, Operators.self, Keys.self, Audit.self, Admin.self, AttestationCommand.self, Demo.self,
    ])

  /// Protects the memory in every subcommand, because most read a key or a password.
  static func main() {
    MemorySecrecy.begin()
    Program.run(Self.self)
  }
}
