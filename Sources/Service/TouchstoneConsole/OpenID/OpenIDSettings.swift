// The identity provider that signs operators in, as the configuration has it.

package import DispatchHTTP
internal import TouchstoneAttestation
package import TouchstoneCrypto
package import TouchstoneService

package struct OpenIDSettings: Sendable {
  package var issuer: String
  package var clientID: String
  package var clientSecret: SecretBytes
  package var nameClaim: String
  package var groupsClaim: String
  /// The groups that have each role.
  package var groups: [OperatorRole: Set<String>]
  package var applications: ApplicationGrant
  package var client: HTTPSClient

  package init(
    issuer: String, clientID: String, clientSecret: SecretBytes, nameClaim: String, groupsClaim: String,
    groups: [OperatorRole: Set<String>], applications: ApplicationGrant, client: HTTPSClient
  ) {
    (self.issuer, self.clientID, self.clientSecret) = (issuer, clientID, clientSecret)
    (self.nameClaim, self.groupsClaim, self.groups) = (nameClaim, groupsClaim, groups)
    (self.applications, self.client) = (applications, client)
  }

  /// The highest role of the groups; `nil`: they have none.
  func role(of names: [String]) -> OperatorRole? {
    OperatorRole.allCases.last { role in
      groups[role]?.contains { group in names.contains { $0.utf8.elementsEqual(group.utf8) } } == true
    }
  }

  /// Sessions end when the mapping changes.
  var basis: [UInt8] {
    let roles = OperatorRole.allCases.map { role in "\(role) \((groups[role] ?? []).sorted())" }
    return sha256(Array("\([issuer, clientID, nameClaim, groupsClaim] + roles)".utf8))
  }

  /// The prefix keeps the name apart from those of the configuration, which have no colon.
  func account(_ token: IDToken, _ role: OperatorRole) -> Operator {
    account(
      name: "oidc:\(token.name)", role, id: "oidc:\(SignInGuard.text(of: "\(issuer)\n\(token.subject)"))")
  }

  func account(name: String, _ role: OperatorRole, id: String) -> Operator {
    Operator(name: name, role: role, applications: applications, accountID: id, basis: basis)
  }

  func expectation(nonce: String) -> IDToken.Expectation {
    IDToken.Expectation(
      issuer: issuer, clientID: clientID, nonce: nonce, nameClaim: nameClaim, groupsClaim: groupsClaim)
  }
}
