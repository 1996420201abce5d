// The methods that a configuration grants, by their names.

internal import TouchstoneCodec

extension MethodDescriptor {
  /// A method's index in `all`. Grants are sets of these.
  typealias Number = Int

  /// `nil` for a method that the service does not have. It is granted to no caller.
  static func number(of path: String) -> Number? {
    all.firstIndex { $0.path == path }
  }

  /// The full names of the services that have such methods.
  static func services(where isIncluded: (MethodDescriptor) -> Bool = { _ in true }) -> [String] {
    Set(all.filter(isIncluded).map(\.service)).sorted()
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
    guard MethodDescriptor.all.contains(where: { $0.access != .open && grant.contains($0) }) else { return nil }
    self = grant
  }

  /// All names that can be granted, for the suggestion after a typing error.
  public static let names: [String] = {
    let granted = MethodDescriptor.all.filter { $0.access != .open }
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
    MethodDescriptor.all.contains { contains($0) && $0.access == .applicationGranted }
  }

  func contains(_ method: MethodDescriptor) -> Bool {
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
