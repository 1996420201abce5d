// `touchstone config …`: shows the settings in force and where they come from, and the form of the file.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneServer

struct ConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "The configuration: what is in force, and what may be in the file.",
    subcommands: [Check.self, Print.self, Schema.self])

  struct Check: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check the settings with which `serve` would start here, as `check-config` checks a file.",
      usage: "touchstone config check [--config <file>] [--KEY <value> ...]",
      discussion: "Takes the flags of `serve`, and reads the same variables of the environment.")

    @OptionGroup var settings: SettingOptions

    func perform() throws(Failure) {
      try CheckConfig.check(try settings.sources().load(settings.config), named: settings.config ?? "the settings")
    }
  }

  struct Print: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the settings with which `serve` would start here, and where each comes from.",
      usage: "touchstone config print [--config <file>] [--json] [--KEY <value> ...]",
      discussion: """
        Takes the flags of `serve`, and reads the same variables of the environment. The output is a configuration itself, \
        with the source of each value in a comment: FILE:LINE, the variable, the flag, or default. Passwords and keys are \
        masked. If `serve` would refuse a setting, it prints the reasons and exits 78.
        """)

    @OptionGroup var settings: SettingOptions

    @Flag(help: "Print an object from settings to values and sources.")
    var json = false

    func perform() throws(Failure) {
      let effective = try settings.sources().read(settings.config)
      let lines = json ? effective.json.split(separator: "\n").map(String.init) : effective.yaml
      for line in lines { printLine(json ? printable(json: line) : printable(line)) }
    }
  }

  struct Schema: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the JSON Schema (draft 2020-12) of the file.",
      discussion: "For editors, and for checks where the service itself is not at hand.")

    func run() {
      printLine(ConfigurationSchema.text)
    }
  }
}
