// Roles and their methods, and the names of operators.

import Testing
import TouchstoneCodec
import TouchstoneCrypto
import TouchstoneService

@testable import TouchstoneConsole

@Suite("Operators")
struct OperatorTests {
  private static let hash = PasswordHash.standIn(PasswordHash.standard)

  private func definition(
    _ name: String, _ role: OperatorRole = .read, password: PasswordHash = hash,
    applications: ApplicationGrant = .all
  ) -> OperatorDefinition {
    OperatorDefinition(name: name, password: password, role: role, applications: applications)
  }

  @Test("A role may what the roles before it may, and no more")
  func roles() {
    typealias Administration = V1.AdministrationService
    let unlocking = Administration.unlockDevice.descriptor
    let searching = Administration.findProfiles.descriptor
    let erasing = Administration.eraseProfile.descriptor
    let may = OperatorRole.allCases.map { role in
      let account = Operator(definition("anna", role))
      return [Administration.getProfile.descriptor, searching, unlocking, erasing].map(account.mayCall)
    }
    #expect(may == [[true, false, false, false], [true, true, true, false], [true, true, true, true]])
  }

  @Test("No operator may log people in, bind their phones or set their secrets")
  func others() {
    let granted: Set<String> = [
      "GetProfile", "ListEvents", "ExplainEvaluation", "UnlockDevice", "UnlockSecret", "SetUnlockSettings",
      "RevokeBinding", "EraseProfile", "FindProfiles",
    ]
    let account = Operator(definition("root", .admin))
    #expect(Set(MethodDescriptor.all.filter(account.mayCall).map(\.name)) == granted)
  }

  @Test("The name in the audit log is one that no caller can have")
  func names() {
    let name = Operator(definition("anna")).caller.name
    #expect(name == "operator:anna")
    #expect(CallerDefinition.violation(inName: name) != nil)
  }

  @Test("A name is found by its bytes alone")
  func lookup() {
    let register = OperatorRegister([definition("K")])
    #expect(register["K"] != nil)
    // The Kelvin sign.
    #expect(register["\u{212A}"] == nil)
    #expect(register["k"] == nil)
  }
}
