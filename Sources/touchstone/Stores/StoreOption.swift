// `--store`, and what it is without.

internal import ArgumentParser

struct StoreOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Where the records are: sqlite (in the data directory) or postgresql://HOST/DATABASE, as libpq reads it. Else what \
      TOUCHSTONE_STORE says, else the configuration, else sqlite.
      """, valueName: "store"))
  var store: String?

  /// Flags come first, then the environment, which has nothing of it any more afterwards. `nil` where neither says. To be
  /// called before there are other threads.
  func take() throws(Failure) -> StoreSetting? {
    let ofEnvironment = StoreSetting.takeFromEnvironment()
    guard let store else { return try ofEnvironment?.get() }
    return try Self.visible(store, from: "--store")
  }

  /// Of a flag.
  static func visible(_ text: String, from flag: String) throws(Failure) -> StoreSetting {
    let setting = try StoreSetting(parsing: text, from: flag, status: .usage)
    guard setting.hasSecret else { return setting }
    throw Failure(
      status: .usage,
      message: "\(flag): whoever lists processes would see the password: keep it in a file that the URI names "
        + "(passfile=), or give the URI in TOUCHSTONE_STORE or the configuration")
  }
}
