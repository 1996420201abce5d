// `touchstone callers …`: makes keys for callers of the service. It starts and changes nothing.

internal import ArgumentParser
internal import TerminalText
internal import TouchstoneCrypto
internal import TouchstoneService

struct Callers: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The callers of the service.", subcommands: [NewKey.self])

  struct NewKey: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a key for a caller.",
      discussion: """
        Prints the key, which is stored nowhere and cannot be recovered, and then the caller's lines for `callers:` in the \
        configuration. The caller sends the key with each call, over TLS or from this machine, as the metadata \
        "authorization: Bearer KEY".
        """)

    @Argument(help: "The caller's name in the configuration and in the audit log.")
    var name: String

    func validate() throws {
      if let violation = CallerDefinition.violation(inName: name) { throw ValidationError("the name \(violation)") }
      if CallerByPath(rawValue: name.lowercased()) != nil { throw ValidationError("\(name) is a caller without a key") }
    }

    func run() {
      let key = CallerKey.make()
      guard let digest = CallerKeyDigest(ofKey: key) else { preconditionFailure("a new key is a key") }
      printLine(key)
      printLine("  - name: \(name)")
      printLine("    keys: [\(digest)]")
    }
  }
}

/// Callers as lines for people.
enum CallerSheet {
  /// One in each line, in columns.
  static func list(_ callers: [CallerDefinition]) -> [String] {
    aligned(
      callers.map { caller in
        [
          "caller \(caller.name)", caller.methods.map(\.description).joined(separator: ", "),
          applications(of: caller),
        ]
      })
  }

  private static func applications(of caller: CallerDefinition) -> String {
    switch caller.applications {
    case .all: "*"
    case .these(let names): names.joined(separator: ", ")
    }
  }
}
