// Reads an app's query in the phone's terms.

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

  func bool(_ name: CFString) -> Bool? { values[name as String] as? Bool }

  func key(_ name: CFString) -> SecKey? { values[name as String] as? SecKey }

  /// The given dictionary, with the entries of this one that it lacks, as for the halves of a new key.
  func merged(_ name: CFString) -> KeychainQuery {
    KeychainQuery(Self.values(of: values[name as String]).merging(values) { inner, _ in inner })
  }

  /// The named class, or that of the item or key that is referred to.
  var itemClass: String? {
    string(kSecClass) ?? persistentReference?.itemClass ?? key(kSecValueRef).map { _ in kSecClassKey as String }
  }

  /// `nil`: none is given, or it is not a keychain class.
  var persistentReference: PersistentReference? { data(kSecValuePersistentRef).flatMap(PersistentReference.init) }

  var context: ContextSession? { (values[kSecUseAuthenticationContext as String] as? LAContext)?.session }

  /// How presence is proven for this query: by its context, or at its own prompt.
  func session(in simulation: LASimulation) -> ContextSession {
    if let context { return context }
    let session = ContextSession(simulation)
    session.updateSettings { $0.localizedReason = string(kSecUseOperationPrompt) ?? "" }
    return session
  }

  /// The most items to return. `nil`: the query gives a limit that is no number of items.
  var limit: Int? {
    guard let limit = values[kSecMatchLimit as String] else { return 1 }
    if let name = limit as? String {
      return [kSecMatchLimitOne as String: 1, kSecMatchLimitAll as String: Int.max][name]
    }
    return (limit as? Int).flatMap { $0 > 0 ? $0 : nil }
  }

  /// `nil`: none is given. A new item then opens without a prompt, and an old one keeps its own.
  var accessControl: SimulatedPhone.AccessControl? {
    if let control = values[kSecAttrAccessControl as String] as? SecAccessControl { return control.simulated }
    return string(kSecAttrAccessible).map {
      .init(isBoundToPasscode: $0 == kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String)
    }
  }

  /// The attributes that describe items, in a form that keeps their type.
  var attributes: SimulatedPhone.KeychainItem.Attributes {
    var attributes = values.filter { Self.attributeNames.contains($0.key) }.compactMapValues(StoredValue.encode)
    attributes[kSecAttrSynchronizable as String] = bool(kSecAttrSynchronizable).flatMap(StoredValue.encode)
    return attributes
  }

  /// The attributes that find items. Synchronizable items are found only if the query asks for them; a reference finds
  /// its item.
  var searchedAttributes: SimulatedPhone.KeychainItem.Attributes {
    var attributes = attributes
    if let key = key(kSecValueRef) { attributes.merge(key.identifyingAttributes) { $1 } }
    let isSilent = values[kSecAttrSynchronizable as String] == nil && persistentReference == nil
    if isSilent { attributes[kSecAttrSynchronizable as String] = StoredValue.encode(false) }
    return attributes
  }

  /// - Parameter application: its name is its access group.
  func attributesOfNewItem(of application: String, at now: Date) -> SimulatedPhone.KeychainItem.Attributes {
    let accessible = accessibilityOfControl ?? kSecAttrAccessibleWhenUnlocked as String
    let defaults: [(CFString, Any)] = [
      (kSecAttrAccessible, accessible), (kSecAttrAccessGroup, application), (kSecAttrSynchronizable, false),
      (kSecAttrCreationDate, now), (kSecAttrModificationDate, now),
    ]
    return attributes.merging(StoredValue.encode(defaults)) { given, _ in given }
  }

  func attributesOfUpdate(at now: Date) -> SimulatedPhone.KeychainItem.Attributes {
    var changes = attributes
    changes[kSecAttrModificationDate as String] = StoredValue.encode(now)
    if let accessible = accessibilityOfControl {
      changes[kSecAttrAccessible as String] = StoredValue.encode(accessible)
    }
    return changes
  }

  private var accessibilityOfControl: String? {
    (values[kSecAttrAccessControl as String] as? SecAccessControl)?.accessibility
  }

  private static let attributeNames = Set(
    [
      kSecAttrAccessible, kSecAttrAccessGroup, kSecAttrCreationDate, kSecAttrModificationDate, kSecAttrDescription,
      kSecAttrComment, kSecAttrCreator, kSecAttrType, kSecAttrLabel, kSecAttrIsInvisible, kSecAttrIsNegative,
      kSecAttrAccount, kSecAttrService, kSecAttrGeneric, kSecAttrSecurityDomain, kSecAttrServer, kSecAttrProtocol,
      kSecAttrAuthenticationType, kSecAttrPort, kSecAttrPath, kSecAttrApplicationLabel, kSecAttrApplicationTag,
      kSecAttrKeyClass, kSecAttrKeyType, kSecAttrKeySizeInBits, kSecAttrEffectiveKeySize, kSecAttrCanEncrypt,
      kSecAttrCanDecrypt, kSecAttrCanDerive, kSecAttrCanSign, kSecAttrCanVerify, kSecAttrCanWrap, kSecAttrCanUnwrap,
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

/// Bytes that identify an item while it exists: its class, four letters, and its number, eight bytes.
struct PersistentReference {
  let itemClass: String
  let number: Int

  init(_ item: SimulatedPhone.KeychainItem) {
    itemClass = item.itemClass
    number = item.id.number
  }

  init?(_ data: Data) {
    guard data.count == 12 else { return nil }
    itemClass = String(decoding: data.prefix(4), as: UTF8.self)
    guard let number = Int(exactly: data.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) else { return nil }
    self.number = number
  }

  var data: Data { Data(itemClass.utf8) + withUnsafeBytes(of: UInt64(number).bigEndian) { Data($0) } }
}

/// An attribute's value as bytes, the first of which gives its type.
enum StoredValue {
  private static let text: UInt8 = 0
  private static let data: UInt8 = 1
  private static let number: UInt8 = 2
  private static let date: UInt8 = 3

  static func encode(_ value: Any) -> [UInt8]? {
    switch value {
    case let value as String: [text] + Array(value.utf8)
    case let value as Data: [data] + Array(value)
    case let value as Date: [date] + Array(String(value.timeIntervalSinceReferenceDate).utf8)
    // Truth values first: Core Foundation's can be read as numbers.
    case let value as NSNumber: [number] + Array(String(value.int64Value).utf8)
    default: nil
    }
  }

  static func encode(_ values: [(CFString, Any)]) -> SimulatedPhone.KeychainItem.Attributes {
    values.reduce(into: [:]) { $0[$1.0 as String] = encode($1.1) }
  }

  static func decode(_ bytes: [UInt8]) -> Any? {
    let content = bytes.dropFirst()
    switch bytes.first {
    case text: return String(decoding: content, as: UTF8.self)
    case data: return Data(content)
    case number: return Int64(String(decoding: content, as: UTF8.self)).map(NSNumber.init(value:))
    case date: return Double(String(decoding: content, as: UTF8.self)).map(Date.init(timeIntervalSinceReferenceDate:))
    default: return nil
    }
  }
}
