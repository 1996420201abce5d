// The scenario of a load, and its phones.

internal import ArgumentParser
internal import Glibc
internal import LoadScenarios

struct WorkOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "What people do: \(builtInNames), or a file with a scenario (docs/LOAD.md).", valueName: "name or FILE.yaml"))
  var scenario = "login"

  @Option(
    help: ArgumentHelp("Keep the phones in a file, so that the next run binds nothing.", valueName: "file"),
    completion: .file())
  var phones: String?

  private static let builtInNames = Scenario.builtIn.map(\.name).joined(separator: ", ")
  /// A scenario is much smaller.
  private static let maximumFileBytes = 1 << 20

  func readScenario(isSeeded: Bool) throws(LoadError) -> Scenario {
    let scenario = try readScenario()
    if isSeeded, scenario.hasSecrets {
      throw .usage("--seeded has phones without passcodes, and scenario \(scenario.name) needs some with one")
    }
    if scenario.credential != .p256, isSeeded || phones != nil {
      throw .usage(
        "--seeded and --phones have keys of P-256 alone, and scenario \(scenario.name) has "
          + "credential: \(scenario.credential.rawValue)")
    }
    return scenario
  }

  private func readScenario() throws(LoadError) -> Scenario {
    if let builtIn = Scenario.builtIn.first(where: { $0.name == scenario }) { return builtIn }
    guard scenario.hasSuffix(".yaml") || scenario.hasSuffix(".yml") else {
      throw .usage(
        "--scenario \(scenario.debugDescription) is neither \(Self.builtInNames) nor the name of a YAML file")
    }
    guard let text = TextFile.read(scenario) else {
      throw .usage("\(scenario) cannot be read: \(String(cString: strerror(errno)))")
    }
    guard text.utf8.count <= Self.maximumFileBytes else { throw .usage("\(scenario) is too large for a scenario") }
    do throws(ScenarioError) {
      return try Scenario(yaml: Array(text.utf8), path: scenario)
    } catch {
      throw .usage(error.description)
    }
  }
}
