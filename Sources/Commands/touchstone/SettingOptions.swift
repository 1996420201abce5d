// `--config`, and a flag for each key of the configuration.

internal import ArgumentParser
internal import TouchstoneServer

struct SettingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("YAML settings. Variables of the environment and flags take precedence.", valueName: "file"),
    completion: .file())
  var config: String?

  @OptionGroup(title: "SETTINGS") var settings: SettingFlagOptions

  /// The table has the flags that are like them, and knows what must not be shown.
  @Argument(parsing: .allUnrecognized, help: .hidden)
  var unknown: [String] = []

  /// Must be called before there are other threads.
  func sources() throws(Failure) -> ConfigurationSources { try .take(flags: settings.flags + unknown) }
}

/// An option for each flag of the table. The parser reads a type's properties by reflection, and this type shows it one
/// for each flag.
struct SettingFlagOptions: ParsableArguments, CustomReflectable {
  private let options: [(key: Key, option: Option<[String]>)]

  init() {
    options = SettingFlags.all.map { flag in
      (
        Key(stringValue: flag.name),
        Option(
          wrappedValue: [], name: .customLong(flag.name),
          help: ArgumentHelp(flag.meaning, valueName: flag.values), completion: flag.completion)
      )
    }
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    options = try SettingFlags.all.map { flag in
      let key = Key(stringValue: flag.name)
      return (key, try values.decode(Option<[String]>.self, forKey: key))
    }
  }

  var customMirror: Mirror { Mirror(self, children: options.map { ("_" + $0.key.stringValue, $0.option) }) }

  /// As they were given.
  var flags: [String] {
    options.flatMap { key, option in option.wrappedValue.map { "--\(key.stringValue)=\($0)" } }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}

extension SettingFlag {
  fileprivate var completion: CompletionKind? {
    switch choices {
    case .paths: .file()
    case .words(let words): .list(words)
    case .nothing: nil
    }
  }
}
