// `vendors:` of the configuration: the applications that share a device's failures (R8).

internal import SettingFiles
internal import TouchstonePolicy
internal import TouchstoneService

/// A mapping from a vendor's name to the list of its applications.
struct VendorSection {
  let vendors: Vendors

  static var shape: ValueShape {
    .map(.list(.form("an application"), 1...maximumApplications), atMost: maximumVendors)
  }

  /// More than one operator has.
  static let maximumVendors = 10_000
  static let maximumApplications = 10_000

  init(_ node: YAMLNode, _ section: String, with reader: inout SettingReader) {
    var groups: [(name: String, applicationIDs: [String])] = []
    // By bytes, because texts take two spellings of "é" for one.
    var vendorsByApplication: [[UInt8]: String] = [:]
    for entry in reader.entries(node, section, atMost: Self.maximumVendors) {
      let name = entry.key.name
      if let reason = Identifier.violation(in: name) { reader.refuse(entry.key.place, "a vendor's name \(reason)") }
      var group: (name: String, applicationIDs: [String]) = (name, [])
      for application in Self.applications(entry.value, "\(section).\(name)", with: &reader) {
        if let other = vendorsByApplication.updateValue(name, forKey: Array(application.id.utf8)) {
          reader.refuse(
            application.place,
            "\(application.id.debugDescription) is in \(section).\(other) already: an application has one vendor")
        }
        group.applicationIDs.append(application.id)
      }
      groups.append(group)
    }
    vendors = Vendors(groups)
  }

  private static func applications(
    _ node: YAMLNode, _ name: String, with reader: inout SettingReader
  ) -> [(id: String, place: YAMLPlace)] {
    reader.elements(node, name, atMost: maximumApplications) { node, reader in
      guard let id = reader.text(node, name) else { return nil }
      if let reason = ApplicationID.violation(inSetting: id) {
        reader.refuse(node.place, "an application in \(name) \(reason)")
        return nil
      }
      return (id, node.place)
    } ?? []
  }
}
