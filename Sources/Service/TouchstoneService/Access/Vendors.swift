// Groups applications by vendor (R8).

internal import TouchstonePolicy
public import TouchstoneStore

/// The vendors of one configuration. A class, because each call takes a reference to it.
public final class Vendors: Sendable {
  /// Members under one key are compared by their bytes, because two Unicode spellings of "é" are one key of a
  /// dictionary.
  private let members: [String: [Member]]

  private struct Member: Sendable, Equatable {
    var applicationID: String
    var vendor: Vendor
  }

  /// - Parameter groups: the applications of each vendor, by the vendor's name. The last vendor of an application
  ///   counts.
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

  var applications: [String] { members.values.flatMap { $0.map(\.applicationID) } }

  /// Returns the applications, in order, whose vendor differs from `earlier`. Their devices' counts begin anew.
  public func applications(movedSince earlier: Vendors) -> [String] {
    let known = applications + earlier.applications
    let moved = known.filter { vendor(of: $0) != earlier.vendor(of: $0) }
    return moved.reduce(into: []) { list, id in
      if !list.contains(where: { Identifier.areEqual($0, id) }) { list.append(id) }
    }.sorted()
  }
}
