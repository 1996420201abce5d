// What an app writes into a query, read into what the phone understands.

internal import Foundation
internal import SimulatedPhone

/// The dictionary that the Security functions take.
struct KeychainQuery {
  private let values: [String: Any]

  init(_ dictionary: CFDictionary) {
    self.init(Self.values(of: dictionary))
  }

  private init(_ values: [String: Any]) {
    self.values = values
  }

  func string(_ name: CFString) -> String? { values[name as String] as? String }

  func data(_ name: CFString) -> Data? { values[name as String] as? Data }

  func integer(_ name: CFString) -> Int? { values[name as String] as? Int }

  func bool(_ name: CFString) -> Bool { values[name as String] as? Bool ?? false }

  func key(_ name: CFString) -> SecKey? { values[name as String] as? SecKey }

  /// A dictionary in this one; without one, an empty query. The context may stand in either.
  func nested(_ name: CFString) -> KeychainQuery {
    var nested = Self.values(of: values[name as String])
    let contextName = kSecUseAuthenticationContext as String
    if nested[contextName] == nil { nested[contextName] = values[contextName] }
    return KeychainQuery(nested)
  }

  var itemClass: String? { string(kSecClass) }

  var context: ContextSession? { (values[kSecUseAuthenticationContext as String] as? LAContext)?.session }

  /// Who proves to be present for this query: its context, or somebody at a prompt of its own.
  func session(in simulation: LASimulation) -> ContextSession {
    if let context { return context }
    let session = ContextSession(simulation)
    session.updateSettings { $0.localizedReason = string(kSecUseOperationPrompt) ?? "" }
    return session
  }

  var accessControl: SimulatedPhone.AccessControl {
    if let control = values[kSecAttrAccessControl as String] as? SecAccessControl { return control.simulated }
    let accessibility = string(kSecAttrAccessible)
    return .init(isBoundToPasscode: accessibility == kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String)
  }

  /// Those by which items are described and found, in a form that keeps their type.
  var attributes: SimulatedPhone.KeychainItem.Attributes {
    values.filter { Self.attributeNames.contains($0.key) }.compactMapValues(StoredValue.encode)
  }

  /// With the accessibility that is the default, or the access control's.
  var attributesOfNewItem: SimulatedPhone.KeychainItem.Attributes {
    let control = values[kSecAttrAccessControl as String] as? SecAccessControl
    let accessibility = control?.accessibility ?? kSecAttrAccessibleWhenUnlocked as String
    return attributes.merging([kSecAttrAccessible as String: StoredValue.encode(accessibility) ?? []]) { given, _ in
      given
    }
  }

  private static let attributeNames = Set(
    [
      kSecAttrAccessible, kSecAttrAccessGroup, kSecAttrDescription, kSecAttrComment, kSecAttrLabel, kSecAttrAccount,
      kSecAttrService, kSecAttrGeneric, kSecAttrServer, kSecAttrProtocol, kSecAttrPort, kSecAttrPath,
      kSecAttrApplicationLabel, kSecAttrApplicationTag, kSecAttrKeyClass, kSecAttrKeyType, kSecAttrKeySizeInBits,
      kSecAttrTokenID,
    ].map { $0 as String })

  /// Swift's dictionaries reach a function with keys of several types: `String`, `CFString`, `NSObject`.
  private static func values(of dictionary: Any?) -> [String: Any] {
    guard let dictionary = dictionary as? [AnyHashable: Any] else { return [:] }
    return Dictionary(
      dictionary.compactMap { key, value in (key as? String).map { ($0, value) } },
      uniquingKeysWith: { first, _ in first })
  }
}

/// An attribute's value as bytes, the first of which says what it was.
enum StoredValue {
  private static let text: UInt8 = 0
  private static let data: UInt8 = 1
  private static let number: UInt8 = 2

  static func encode(_ value: Any) -> [UInt8]? {
    switch value {
    case let value as String: [text] + Array(value.utf8)
    case let value as Data: [data] + Array(value)
    case let value as Int: [number] + Array(String(value).utf8)
    default: nil
    }
  }

  static func decode(_ bytes: [UInt8]) -> Any? {
    let content = bytes.dropFirst()
    switch bytes.first {
    case text: return String(decoding: content, as: UTF8.self)
    case data: return Data(content)
    case number: return Int(String(decoding: content, as: UTF8.self))
    default: return nil
    }
  }
}
