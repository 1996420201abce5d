// `touchstone check-config`: says whether `serve` would accept a file, and lists its policies and callers.

internal import ArgumentParser
internal import TouchstoneServer
internal import TouchstoneService

struct CheckConfig: FallibleCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a configuration file alone, without starting anything.",
    discussion: """
      Prints all that is wrong with it, one thing a line, as FILE:LINE:COLUMN: MESSAGE, and exits 78; or the policies \
      and callers that it would serve. Certificates and their keys are read, too. What other users can change is refused: the \
      file, those that it names, the data directory and the archive, and each directory on the way to them.
      """)

  @Argument(help: ArgumentHelp("YAML settings.", valueName: "file"), completion: .file())
  var file: String

  func perform() throws(Failure) {
    try Self.check(try ProcessConfiguration.load(file), named: file)
  }

  static func check(_ configuration: ProcessConfiguration, named name: String) throws(Failure) {
    let found = try configuration.checkReferredFiles()
    for warning in configuration.warnings + found { printLine(warning) }
    printLine("\(name): ok")
    if case .postgresql(let address) = configuration.store {
      printLine("store \(StoreSetting.postgresName) \(address)")
    }
    for line in PolicySheet.list(configuration.service.policies) { printLine(line) }
    for line in CallerSheet.list(configuration.service.callers ?? []) { printLine(line) }
  }
}
