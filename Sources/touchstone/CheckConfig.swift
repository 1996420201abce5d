// `touchstone check-config`: would `serve` take this file, and which policies would it serve, to whom?

internal import ArgumentParser
internal import TouchstoneService
internal import TouchstoneStore

struct CheckConfig: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a configuration file, without starting anything.",
    discussion: """
      Prints all that is wrong with it, one thing a line, as FILE:LINE:COLUMN: MESSAGE, and exits 78; or the policies \
      and callers that it would serve. Certificates and their keys are read, too. What other users can change is refused: the \
      file, those that it names, and the data directory.
      """)

  @Argument(help: ArgumentHelp("YAML settings.", valueName: "file"))
  var file: String

  func run() throws {
    do throws(Failure) {
      let configuration = try ProcessConfiguration.load(file)
      _ = try configuration.loadTLS()
      try configuration.requireProtectedData()
      printLine("\(file): ok")
      if configuration.store != .sqlite { printLine("store \(configuration.store.description)") }
      for line in PolicySheet.list(configuration.service.policies) { printLine(line) }
      for line in CallerSheet.list(configuration.service.callers ?? []) { printLine(line) }
    } catch {
      fail(error)
    }
  }
}

extension ProcessConfiguration {
  /// As `serve` does when it opens the store. A directory that is not there yet is made with mode 0700.
  fileprivate func requireProtectedData() throws(Failure) {
    guard store == .sqlite, let violation = FileProtection.violation(at: dataDirectory, .writes) else { return }
    throw Failure(status: .badConfiguration, message: "data_dir \(dataDirectory): \(violation)")
  }
}
