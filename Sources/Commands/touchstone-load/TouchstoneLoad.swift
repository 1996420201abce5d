// `touchstone-load`: simulated phones with real keys, as many calls as are due.

internal import ArgumentParser
internal import CommandProgram

@main
struct TouchstoneLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "touchstone-load",
    abstract: "Load a running Touchstone with simulated phones.",
    discussion: """
      `run` is meant if neither is named: touchstone-load --target host:port --rate 200 --slo 'p99<20ms'. \
      `touchstone-load run --help` lists its options.
      """,
    version: Program.version,
    subcommands: [RunCommand.self, JoinCommand.self],
    defaultSubcommand: RunCommand.self)

  static func main() {
    Program.run(Self.self)
  }
}
