internal import TouchstonePolicy

/// The applications that share a device's counts: those of one vendor. Another vendor's reports about a phone do not
/// affect them.
public struct Vendor: Sendable {
  package enum Kind: UInt8, Sendable, Hashable {
    case everybody = 0
    /// Earlier versions kept other records under ids that began with 1, 2 or 3.
    case named = 3
    case application = 4
  }

  package let kind: Kind
  package let name: String

  private init(_ kind: Kind, _ name: String) {
    self.kind = kind
    self.name = name
  }

  /// Without configured vendors, all applications belong to one vendor.
  public static let everybody = Vendor(.everybody, "")

  /// A group of applications.
  public static func named(_ name: String) -> Vendor { Vendor(.named, name) }

  /// An application in no group. It differs from a group of the same name.
  public static func application(_ applicationID: String) -> Vendor { Vendor(.application, applicationID) }
}

/// Byte for byte, like identifiers: two encodings of "é" are two vendors.
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
  /// The key under which a store keeps a device. Identifiers hold no control characters, so no two pairs of vendor and
  /// device have the same key. For `everybody` it is the device's id alone.
  package func storedID(ofDevice deviceID: String) -> String {
    guard kind != .everybody else { return deviceID }
    let mark = String(UnicodeScalar(kind.rawValue))
    return "\(mark)\(name)\(mark)\(deviceID)"
  }

  /// Parses `storedID`.
  public static func parsing(storedID: String) -> (vendor: Vendor, deviceID: String) {
    let bytes = storedID.utf8
    guard let first = bytes.first, let kind = Kind(rawValue: first), kind != .everybody,
      let end = bytes.dropFirst().firstIndex(of: first)
    else { return (.everybody, storedID) }
    let name = String(Substring(bytes[..<end].dropFirst()))
    return (Vendor(kind, name), String(Substring(bytes[end...].dropFirst())))
  }

  /// The prefix of a device's id in `storedID(ofDevice:)`.
  package var storedPrefix: String { storedID(ofDevice: "") }
}

extension DeviceRecord {
  public var storedID: String { vendor.storedID(ofDevice: deviceID) }

  /// Returns the record for a vendor that has none of its own yet: that of all applications, so that no lock vanishes
  /// with the first configuration file.
  package func inherited(by vendor: Vendor) -> DeviceRecord {
    var record = self
    record.vendor = vendor
    record.version = 0
    return record
  }
}
