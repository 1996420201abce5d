// Every key of the configuration, by the rows of the sections.
//
// The variables, the flags, the schema and docs/CONFIGURATION.md follow from these rows.

enum ConfigurationTable {
  static let rows = ProcessConfiguration.rows
  /// All keys with values of their own, in the table's order.
  static let settings = settings(of: rows, under: [])

  private static func settings(of rows: [KeyRow], under path: [String]) -> [ConfigurationSetting] {
    rows.flatMap { row in
      let setting = ConfigurationSetting(path: path + [row.name], row: row)
      return (row.shape.isSetting ? [setting] : []) + settings(of: row.shape.keys, under: setting.path)
    }
  }
}
