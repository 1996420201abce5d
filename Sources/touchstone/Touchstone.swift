// The command line: one binary, a subcommand for each job.

internal import ArgumentParser

@main
struct Touchstone: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "touchstone",
    abstract: "Server-side policy for biometric login and payment.",
    subcommands: [
      Serve.self, Migrate.self, Backup.self, Restore.self, Restored.self, Healthcheck.self, CheckConfig.self,
      Policy.self,
      Callers.self, Keys.self, Audit.self, Demo.self,
    ])

  /// Of each job, since most read a key or a password.
  static func main() {
    MemorySecrecy.begin()
    main(nil)
  }
}
