// The rule by which each method may be called. A method without a rule is granted to no caller.

internal import TouchstoneCodec

/// Which callers may call a method. It applies before the caller is identified.
enum MethodRule: Sendable {
  /// Every peer may call it: it shows nothing that a closed port would not.
  case open
  /// Callers to whom the method is granted. It concerns no application.
  case granted
  /// Callers to whom the method and the application are granted. The request names the application. A request without one
  /// concerns all applications, and the caller needs a grant for all.
  case applicationGranted
}

/// The methods, by the names in a configuration's grants.
public enum ServedMethods {
  struct Method: Sendable {
    let descriptor: MethodDescriptor
    let rule: MethodRule

    /// "package.Service".
    var service: String { descriptor.service }
    var name: String { descriptor.name }
    /// The path in a request.
    var path: String { descriptor.path }
  }

  /// A method's index in `all`. Grants are sets of these.
  typealias Number = Int

  static let all: [Method] =
    methods(
      .applicationGranted, V1.EvaluationService.canEvaluatePolicy, V1.EvaluationService.beginEvaluation,
      V1.EvaluationService.submitAttempt, V1.EvaluationService.invalidateEvaluation)
    + methods(
      .applicationGranted, V1.BindingService.beginBinding, V1.BindingService.completeBinding,
      V1.BindingService.getBinding, V1.BindingService.listBindings, V1.BindingService.revokeBinding,
      V1.BindingService.acceptDomainState)
    + methods(
      .applicationGranted, V1.TokenService.introspectToken, V1.TokenService.consumeToken, V1.TokenService.revokeToken)
    // It returns public keys, which are the same for all applications.
    + methods(.granted, V1.TokenService.getSigningKeys)
    + methods(
      .applicationGranted, V1.SecretService.setSecret, V1.SecretService.removeSecret,
      V1.SecretService.getUnlockSettings, V1.SecretService.setUnlockSettings)
    + methods(
      .applicationGranted, V1.AdministrationService.getProfile, V1.AdministrationService.unlockDevice,
      V1.AdministrationService.unlockSecret, V1.AdministrationService.eraseProfile,
      V1.AdministrationService.listEvents, V1.AdministrationService.watchEvents,
      V1.AdministrationService.explainEvaluation)
    + methods(.open, GRPCHealth.Health.check, GRPCHealth.Health.list, GRPCHealth.Health.watch)
    + methods(
      .granted, GRPCReflection.ServerReflection.serverReflectionInfo,
      GRPCReflectionV1Alpha.ServerReflection.serverReflectionInfo)

  static func number(of path: String) -> Number? {
    all.firstIndex { $0.path == path }
  }

  private static func methods<each Request: WireMessage, each Response: WireMessage>(
    _ rule: MethodRule, _ methods: repeat WireMethod<each Request, each Response>
  ) -> [Method] {
    var ruled: [Method] = []
    for method in repeat each methods { ruled.append(Method(descriptor: method.descriptor, rule: rule)) }
    return ruled
  }
}

/// A group of methods, as a configuration names it.
public enum MethodGrant: Sendable, Hashable {
  case all
  /// "package.Service", or only "Service" in this API's own package.
  case service(String)
  /// "package.Service/Method", or only "Service/Method" in this API's own package.
  case method(String)

  private static let package = "touchstone.v1."

  /// Reads "*", "Service/*" or "Service/Method"; `nil` if no method of that name can be granted.
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

  /// All names that can be granted, for the suggestion after a typing error.
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

  /// False if none of the methods concerns an application.
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
