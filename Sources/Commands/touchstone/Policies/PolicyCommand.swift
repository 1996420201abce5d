// `touchstone policy …`: shows the policies in force, and what they would decide. It starts and changes nothing.

internal import ArgumentParser
internal import Encodings
internal import TouchstonePolicy
internal import TouchstoneServer
internal import TouchstoneService

struct Policy: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Look at the policies, and try them on cases.",
    subcommands: [List.self, Show.self, Test.self, Explain.self])

  /// The policies to read.
  struct Source: ParsableArguments {
    @Option(
      help: ArgumentHelp("YAML settings; the built-in policies unless given.", valueName: "file"), completion: .file())
    var config: String?

    func readPolicies() throws(Failure) -> [EvaluationPolicy] {
      try ProcessConfiguration.load(config, from: .anybody).service.policies
    }

    func policy(named name: String) throws(Failure) -> EvaluationPolicy {
      let policies = try readPolicies()
      guard let policy = policies.named(name) else {
        let hint = suggestion(for: name, among: policies.map(\.name))
        throw Failure(kind: .usage, message: "there is no policy \(name.debugDescription)\(hint)")
      }
      return policy
    }
  }

  struct List: FallibleCommand {
    static let configuration = CommandConfiguration(abstract: "All policies: purpose and factors, best first.")

    @OptionGroup var source: Source

    @Flag(help: "Print each policy as a line of JSON.")
    var json = false

    func perform() throws(Failure) {
      let policies = try source.readPolicies()
      for line in json ? policies.map(PolicySheet.json) : PolicySheet.list(policies) { printLine(line) }
    }
  }

  struct Show: FallibleCommand {
    static let configuration = CommandConfiguration(
      abstract: "One policy with every setting in force, as YAML.",
      discussion: "Under another name it can be put below `policies:` of a configuration, and changed there.")

    @OptionGroup var source: Source

    @Argument(help: "The policy's name.")
    var name: String

    func perform() throws(Failure) {
      for line in PolicySheet.settings(of: try source.policy(named: name)) { printLine(line) }
    }
  }
}
