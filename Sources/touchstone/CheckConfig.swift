// `touchstone check-config`: would `serve` take this file, and which policies would it serve?

internal import ArgumentParser
internal import TouchstoneService

struct CheckConfig: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check a configuration file, without starting anything.",
    discussion: """
      Prints all that is wrong with it, one thing a line, as FILE:LINE:COLUMN: MESSAGE, and exits 78; or the policies \
      that it would serve.
      """)

  @Argument(help: ArgumentHelp("YAML settings.", valueName: "file"))
  var file: String

  func run() throws {
    do throws(ConfigurationErrors) {
      let configuration = try ProcessConfiguration.load(path: file)
      printLine("\(file): ok")
      for line in PolicySheet.list(configuration.service.policies) { printLine(line) }
    } catch {
      fail(Failure(error))
    }
  }
}
