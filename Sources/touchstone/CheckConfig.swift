// `touchstone check-config`: would `serve` take this file, and which policies would it serve, to whom?

internal import ArgumentParser
internal import TouchstoneService

struct CheckConfig: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a configuration file, without starting anything.",
    discussion: """
      Prints all that is wrong with it, one thing a line, as FILE:LINE:COLUMN: MESSAGE, and exits 78; or the policies \
      and callers that it would serve. Certificates and their keys are read, too.
      """)

  @Argument(help: ArgumentHelp("YAML settings.", valueName: "file"))
  var file: String

  func run() throws {
    do throws(Failure) {
      let configuration = try ProcessConfiguration.load(file)
      _ = try configuration.loadTLS()
      printLine("\(file): ok")
      if configuration.store != .sqlite { printLine("store \(configuration.store.description)") }
      for line in PolicySheet.list(configuration.service.policies) { printLine(line) }
      for line in CallerSheet.list(configuration.service.callers ?? []) { printLine(line) }
    } catch {
      fail(error)
    }
  }
}
