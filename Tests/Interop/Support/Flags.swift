// Command lines as gRPC's own interop programs take them.

/// `--name=value`, `--name value`, or `--name` alone for `true`.
public struct Flags: Sendable {
  public struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
    public var description: String

    public init(description: String) { self.description = description }
  }

  private var values: [String: String] = [:]

  public init(_ arguments: some Sequence<String>, known: Set<String>) throws(Fault) {
    var waiting: String?
    for argument in arguments {
      guard argument.hasPrefix("--") else {
        guard let name = waiting else { throw Fault(description: "unexpected: \(argument)") }
        values[name] = argument
        waiting = nil
        continue
      }
      let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      guard known.contains(name) else { throw Fault(description: "no such flag: \(argument)") }
      values[name] = parts.count == 2 ? String(parts[1]) : "true"
      waiting = parts.count == 2 ? nil : name
    }
  }

  public func string(_ name: String) -> String? { values[name] }

  /// One that has to be there.
  public func text(_ name: String) throws(Fault) -> String {
    guard let value = values[name] else { throw Fault(description: "--\(name) is missing") }
    return value
  }

  public func bool(_ name: String) throws(Fault) -> Bool {
    switch values[name]?.lowercased() {
    case nil, "false", "0": return false
    case "true", "1": return true
    default: throw Fault(description: "--\(name) is true or false")
    }
  }

  public func number<Number: FixedWidthInteger>(_ name: String, default fallback: Number? = nil) throws(Fault) -> Number
  {
    if values[name] == nil, let fallback { return fallback }
    let text = try text(name)
    guard let number = Number(text) else { throw Fault(description: "--\(name) is not a number: \(text)") }
    return number
  }
}
