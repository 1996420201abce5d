// `touchstone callers …`: what callers of the service need. Nothing is started, nothing is changed.

internal import ArgumentParser
internal import TouchstoneCrypto
internal import TouchstoneService

struct Callers: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Those who may call.", subcommands: [NewKey.self])

  struct NewKey: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a key for a caller.",
      discussion: """
        Prints the key, which is kept nowhere and cannot be had again, and then what the configuration needs to know the \
        caller by it, below `callers:`. The caller sends it with each call, over TLS or from this machine, as the \
        metadata "authorization: Bearer KEY".
        """)

    @Argument(help: "The caller's name in the configuration and in the audit log.")
    var name: String

    func validate() throws {
      if let violation = CallerDefinition.violation(inName: name) { throw ValidationError("the name \(violation)") }
      if CallerByPath(rawValue: name.lowercased()) != nil { throw ValidationError("\(name) is who shows no key") }
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
  /// One a line, in columns.
  static func list(_ callers: [CallerDefinition]) -> [String] {
    PolicySheet.columns(
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
