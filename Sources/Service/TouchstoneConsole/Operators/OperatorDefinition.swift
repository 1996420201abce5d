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

/// An operator of the configuration in force, or one that the identity provider vouches for.
final class Operator: Sendable {
  let name: String
  let role: OperatorRole
  let applications: ApplicationGrant
  /// The record of the account in the store.
  let accountID: String
  /// A digest of what entitles to the account: sessions and passkeys end when it changes.
  let basis: [UInt8]
  /// `nil`: the identity provider signs the operator in.
  let password: PasswordHash?
  /// Under which the service knows the operator's calls.
  let caller: IdentifiedCaller

  init(
    name: String, role: OperatorRole, applications: ApplicationGrant, accountID: String, basis: [UInt8],
    password: PasswordHash? = nil
  ) {
    (self.name, self.role, self.applications) = (name, role, applications)
    (self.accountID, self.basis, self.password) = (accountID, basis, password)
    caller = IdentifiedCaller(
      CallerDefinition(
        operator: name, applications: applications,
        methods: role.methods.map { .method("\($0.service)/\($0.name)") }))
  }

  convenience init(_ definition: OperatorDefinition) {
    self.init(
      name: definition.name, role: definition.role, applications: definition.applications, accountID: definition.name,
      basis: sha256(definition.password.digest), password: definition.password)
  }

  /// `nil`: the configuration has it.
  var providedRole: OperatorRole? { password == nil ? role : nil }

  func mayCall(_ method: MethodDescriptor) -> Bool { caller.mayCall(method.path) }

  /// Whether the operator may see events that belong to no application.
  var seesAllApplications: Bool {
    if case .all = applications { true } else { false }
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
}
