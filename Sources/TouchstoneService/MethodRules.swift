// What each method takes to be called. A method that is not here is granted to nobody.

/// Who may call a method at all, before it is asked who calls.
enum MethodRule: Sendable {
  /// Every peer: it tells nothing that a closed port would not.
  case open
  /// Callers to whom the method is granted. It is about no application.
  case granted
  /// Callers to whom the method and the application are granted. The request names one; who names none asks for all, and
  /// needs all.
  case applicationGranted
}

/// The methods, by the name that a configuration grants them by.
public enum ServedMethods {
  struct Method: Sendable {
    /// "package.Service".
    let service: String
    let name: String
    let rule: MethodRule

    /// As it travels.
    var path: String { "/\(service)/\(name)" }
  }

  /// A method's place in `all`: grants are sets of these.
  typealias Number = Int

  static let all: [Method] =
    methods(
      of: "touchstone.v1.EvaluationService", .applicationGranted,
      ["CanEvaluatePolicy", "BeginEvaluation", "SubmitAttempt", "InvalidateEvaluation"])
    + methods(
      of: "touchstone.v1.BindingService", .applicationGranted,
      ["BeginBinding", "CompleteBinding", "GetBinding", "ListBindings", "RevokeBinding", "AcceptDomainState"])
    + methods(
      of: "touchstone.v1.TokenService", .applicationGranted, ["IntrospectToken", "ConsumeToken", "RevokeToken"])
    // Public keys, the same for all applications.
    + methods(of: "touchstone.v1.TokenService", .granted, ["GetSigningKeys"])
    + methods(
      of: "touchstone.v1.SecretService", .applicationGranted,
      ["SetSecret", "RemoveSecret", "GetUnlockSettings", "SetUnlockSettings"])
    + methods(
      of: "touchstone.v1.AdministrationService", .applicationGranted,
      [
        "GetProfile", "UnlockDevice", "UnlockSecret", "EraseProfile", "ListEvents", "WatchEvents", "ExplainEvaluation",
      ])
    + methods(of: "grpc.health.v1.Health", .open, ["Check", "List", "Watch"])
    + methods(of: "grpc.reflection.v1.ServerReflection", .granted, ["ServerReflectionInfo"])
    + methods(of: "grpc.reflection.v1alpha.ServerReflection", .granted, ["ServerReflectionInfo"])

  static func number(of path: String) -> Number? {
    all.firstIndex { $0.path == path }
  }

  private static func methods(of service: String, _ rule: MethodRule, _ names: [String]) -> [Method] {
    names.map { Method(service: service, name: $0, rule: rule) }
  }
}

/// Some of the methods, as a configuration names them.
public enum MethodGrant: Sendable, Hashable {
  case all
  /// "package.Service", or of this package's own "Service".
  case service(String)
  /// "package.Service/Method", or of this package's own "Service/Method".
  case method(String)

  private static let package = "touchstone.v1."

  /// "*", "Service/*" or "Service/Method"; `nil` where there is nothing of that name that can be granted.
  public init?(_ text: String) {
    let grant: MethodGrant =
      switch text {
      case "*": .all
      case _ where text.hasSuffix("/*"): .service(String(text.dropLast(2)))
      default: .method(text)
      }
    guard ServedMethods.all.contains(where: { $0.rule != .open && grant.contains($0) }) else { return nil }
    self = grant
  }

  /// All that can be granted, for whoever mistyped one.
  public static let names: [String] = {
    let granted = ServedMethods.all.filter { $0.rule != .open }
    var names = ["*"]
    for method in granted {
      let service = method.service.hasPrefix(package) ? String(method.service.dropFirst(package.count)) : method.service
      if !names.contains("\(service)/*") { names.append("\(service)/*") }
      names.append("\(service)/\(method.name)")
    }
    return names
  }()

  /// False where applications are nothing to all of them.
  public var concernsApplications: Bool {
    ServedMethods.all.contains { contains($0) && $0.rule == .applicationGranted }
  }

  func contains(_ method: ServedMethods.Method) -> Bool {
    switch self {
    case .all: true
    case .service(let service): method.service == service || method.service == Self.package + service
    case .method(let name):
      "\(method.service)/\(method.name)" == name || "\(method.service)/\(method.name)" == Self.package + name
    }
  }
}

extension MethodGrant: CustomStringConvertible {
  public var description: String {
    switch self {
    case .all: "*"
    case .service(let service): "\(service)/*"
    case .method(let name): name
    }
  }
}
