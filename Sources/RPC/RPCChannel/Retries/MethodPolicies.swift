// Which policy holds for a call, found for each one: by its method, else its service, else the channel's.

struct MethodPolicies {
  private let policies: [String: RPCMethodPolicy]
  /// Otherwise no call pays for a second look.
  private let haveServices: Bool
  private let others: RPCMethodPolicy

  init(_ configuration: RPCChannelConfiguration) {
    policies = configuration.methods
    haveServices = configuration.methods.keys.contains { $0.hasSuffix("/") }
    others = configuration.defaultPolicy
  }

  /// - Parameter path: `/package.Service/Method`.
  subscript(path: String) -> RPCMethodPolicy {
    guard !policies.isEmpty else { return others }
    if let policy = policies[path] { return policy }
    guard haveServices, let slash = path.lastIndex(of: "/") else { return others }
    return policies[String(path[...slash])] ?? others
  }
}
