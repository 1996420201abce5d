// `--store`, and its default.

internal import ArgumentParser
internal import TouchstoneServer
internal import TouchstoneStore

struct StoreOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The records' store: \(StoreRegistry.directoryKind.name) (in the data directory) or \(StoreRegistry.serverForms), \
      as libpq reads it. Otherwise that of TOUCHSTONE_STORE, of the configuration, or \(StoreRegistry.directoryKind.name).
      """, valueName: "store"))
  var store: String?

  /// Takes the flag, or else the environment's variable, and removes the variable. Returns `nil` if both are missing. Must be
  /// called before there are other threads.
  func take() throws(Failure) -> StoreSetting? {
    let ofEnvironment = StoreSetting.takeFromEnvironment()
    guard let store else { return try ofEnvironment?.get() }
    return try Self.visible(store, from: "--store")
  }

  /// Reads a flag's value, which other users can see.
  static func visible(_ text: String, from flag: String) throws(Failure) -> StoreSetting {
    let setting = try StoreSetting(parsing: text, from: flag, kind: .usage)
    guard setting.hasSecret else { return setting }
    throw Failure(
      kind: .usage,
      message: "\(flag): a list of processes would show the password: keep it in a file that the URI names "
        + "(passfile=), or give the URI in TOUCHSTONE_STORE or the configuration")
  }
}
