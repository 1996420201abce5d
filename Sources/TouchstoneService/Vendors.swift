// Which applications are one vendor's (R8).

internal import TouchstonePolicy
public import TouchstoneStore

/// The vendors of one configuration. One reference, as each call takes it.
public final class Vendors: Sendable {
  /// Under one key, for the table takes two spellings of "é" for one: told apart by their bytes.
  private let members: [String: [Member]]

  private struct Member: Sendable, Equatable {
    var applicationID: String
    var vendor: Vendor
  }

  /// - Parameter groups: the applications of each vendor, by its name. Of an application in two, the last one counts.
  public init(_ groups: [(name: String, applicationIDs: [String])] = []) {
    var members: [String: [Member]] = [:]
    for group in groups {
      for applicationID in group.applicationIDs {
        members[applicationID, default: []].removeAll { Identifier.areEqual($0.applicationID, applicationID) }
        members[applicationID, default: []].append(
          Member(applicationID: applicationID, vendor: .named(group.name)))
      }
    }
    self.members = members
  }

  public func vendor(of applicationID: String) -> Vendor {
    for member in members[applicationID] ?? [] where Identifier.areEqual(member.applicationID, applicationID) {
      return member.vendor
    }
    return .application(applicationID)
  }

  /// The applications, in order, that are another vendor's here than there. Their devices' counts begin anew.
  public func applications(movedSince earlier: Vendors) -> [String] {
    let known = [members, earlier.members].flatMap { $0.values.joined().map(\.applicationID) }
    let moved = known.filter { vendor(of: $0) != earlier.vendor(of: $0) }
    return moved.reduce(into: []) { list, id in
      if !list.contains(where: { Identifier.areEqual($0, id) }) { list.append(id) }
    }.sorted()
  }
}
