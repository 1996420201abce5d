// The console's operators, as the configuration has them, and what their roles may call.

package import TouchstoneCodec
package import TouchstoneCrypto
package import TouchstoneService

/// The rights of an operator. Each role includes the ones before it.
package enum OperatorRole: String, CaseIterable, Sendable {
  /// Looks at profiles, events, policies and health.
  case read
  /// Searches people by any id, unlocks, revokes and changes switches.
  case support
  /// Erases.
  case admin
}

extension OperatorRole {
  /// The methods of the API. The service checks them at each call, as for every caller.
  package var methods: [MethodDescriptor] {
    typealias Administration = V1.AdministrationService
    let reading = [
      Administration.getProfile.descriptor, Administration.listEvents.descriptor,
      Administration.explainEvaluation.descriptor,
    ]
    let supporting = [
      Administration.findProfiles.descriptor, Administration.unlockDevice.descriptor,
      Administration.unlockSecret.descriptor,
      V1.BindingService.revokeBinding.descriptor, V1.SecretService.setUnlockSettings.descriptor,
    ]
    return switch self {
    case .read: reading
    case .support: reading + supporting
    case .admin: reading + supporting + [Administration.eraseProfile.descriptor]
    }
  }
}

/// An account that may sign in at the console.
package struct OperatorDefinition: Sendable {
  /// In the audit log it follows "operator:".
  package var name: String
  package var password: PasswordHash
  package var role: OperatorRole
  package var applications: ApplicationGrant

  package init(name: String, password: PasswordHash, role: OperatorRole, applications: ApplicationGrant) {
    self.name = name
    self.password = password
    self.role = role
    self.applications = applications
  }

  /// Enough for the support staff of a company.
  package static let maximumOperators = 256
}

/// An operator of the configuration in force.
final class Operator: Sendable {
  let definition: OperatorDefinition
  /// Under which the service knows the operator's calls.
  let caller: IdentifiedCaller

  var name: String { definition.name }

  init(_ definition: OperatorDefinition) {
    self.definition = definition
    caller = IdentifiedCaller(
      CallerDefinition(
        operator: definition.name, applications: definition.applications,
        methods: definition.role.methods.map { .method("\($0.service)/\($0.name)") }))
  }

  func mayCall(_ method: MethodDescriptor) -> Bool { caller.mayCall(method.path) }

  /// Whether the operator may see events that belong to no application.
  var seesAllApplications: Bool {
    if case .all = definition.applications { true } else { false }
  }
}

/// The operators of one configuration.
struct OperatorRegister: Sendable {
  private let operators: [String: Operator]
  /// A name that no operator has costs as much as a wrong password.
  let standIn: PasswordHash

  init(_ definitions: [OperatorDefinition]) {
    operators = Dictionary(definitions.map { ($0.name, Operator($0)) }) { _, last in last }
    standIn = .standIn(definitions.first?.password.parameters ?? PasswordHash.standard)
  }

  var isEmpty: Bool { operators.isEmpty }

  /// Names are ASCII: a text with other characters could still equal one, as the Kelvin sign equals a K.
  subscript(_ name: String) -> Operator? {
    name.utf8.allSatisfy { $0 < 0x80 } ? operators[name] : nil
  }

  /// The operators whose sessions end when `later` takes this one's place: they are gone, or have another password.
  func namesEnded(by later: OperatorRegister) -> Set<String> {
    Set(
      operators.values.filter { before in
        guard let after = later[before.name] else { return true }
        return !after.definition.password.isSame(as: before.definition.password)
      }.map(\.name))
  }
}
