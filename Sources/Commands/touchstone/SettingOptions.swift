// `--config`, and a flag for each key of the configuration.

internal import ArgumentParser
internal import TouchstoneServer

struct SettingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("YAML settings. Variables of the environment and flags take precedence.", valueName: "file"))
  var config: String?

  /// The table has the flags, so they are read by it.
  @Argument(parsing: .allUnrecognized, help: .hidden)
  var flags: [String] = []

  /// Must be called before there are other threads.
  func sources() throws(Failure) -> ConfigurationSources { try .take(flags: flags) }
}
