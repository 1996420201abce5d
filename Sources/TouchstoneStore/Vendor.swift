// Whose word on a device counts for whom (R8).

internal import TouchstonePolicy

/// The applications that share what they know of a device: those of one vendor. What another vendor's applications say of a
/// phone is nothing to them.
public struct Vendor: Sendable {
  package enum Kind: UInt8, Sendable, Hashable {
    case everybody = 0
    /// Behind 1 and 2, which begin the ids of stand-ins.
    case named = 3
    case application = 4
  }

  package let kind: Kind
  package let name: String

  private init(_ kind: Kind, _ name: String) {
    self.kind = kind
    self.name = name
  }

  /// Where nobody tells vendors apart, all applications are one vendor's.
  public static let everybody = Vendor(.everybody, "")

  /// A group of applications.
  public static func named(_ name: String) -> Vendor { Vendor(.named, name) }

  /// An application that is in no group. It is another vendor than a group of the same name.
  public static func application(_ applicationID: String) -> Vendor { Vendor(.application, applicationID) }
}

/// Byte for byte, as identifiers are: two spellings of "é" are two vendors.
extension Vendor: Hashable {
  public static func == (left: Vendor, right: Vendor) -> Bool {
    left.kind == right.kind && Identifier.areEqual(left.name, right.name)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    for byte in name.utf8 { hasher.combine(byte) }
  }
}

extension Vendor {
  /// The text under which a store keeps a device. Identifiers hold no control characters, so no two vendors and devices
  /// have one text; that of `everybody` is the device's id alone, as it was before vendors were told apart.
  package func storedID(ofDevice deviceID: String) -> String {
    guard kind != .everybody else { return deviceID }
    let mark = String(UnicodeScalar(kind.rawValue))
    return "\(mark)\(name)\(mark)\(deviceID)"
  }

  /// The other way round.
  package static func parsing(storedID: String) -> (vendor: Vendor, deviceID: String) {
    let bytes = storedID.utf8
    guard let first = bytes.first, let kind = Kind(rawValue: first), kind != .everybody,
      let end = bytes.dropFirst().firstIndex(of: first)
    else { return (.everybody, storedID) }
    let name = String(Substring(bytes[..<end].dropFirst()))
    return (Vendor(kind, name), String(Substring(bytes[end...].dropFirst())))
  }

  /// Goes in front of a device's id in `storedID(ofDevice:)`.
  package var storedPrefix: String { storedID(ofDevice: "") }
}

extension DeviceRecord {
  package var storedID: String { vendor.storedID(ofDevice: deviceID) }

  /// Where a vendor has no record of its own yet: what all applications knew of the device before vendors were told apart
  /// holds for each of them, until its first own one. A lock does not vanish by the first configuration file.
  package func inherited(by vendor: Vendor) -> DeviceRecord {
    var record = self
    record.vendor = vendor
    record.version = 0
    return record
  }
}
