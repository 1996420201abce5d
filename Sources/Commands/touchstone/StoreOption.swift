// `--store`, and its default.

internal import ArgumentParser
internal import TouchstoneServer

struct StoreOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The records' store: \(StoreSetting.sqliteName) (in the data directory) or \(StoreSetting.postgresForm), \
      as libpq reads it. Otherwise that of TOUCHSTONE_STORE, of the configuration, or \(StoreSetting.sqliteName).
      """, valueName: "store"))
  var store: String?

  /// The variables of the environment, and the flag over them. Must be called before there are other threads.
  func sources() throws(Failure) -> ConfigurationSources {
    try .take(flags: store.map { ["--store=\($0)"] } ?? [])
  }
}
