// The keychain (SecItem.h): passwords and keys, found by their attributes, opened by the person who is present.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
internal import SimulatedPhone

/// - Parameter result: the values that `kSecReturn…` requests. Shows no prompt: it returns the given values.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  let query = KeychainQuery(attributes)
  guard let itemClass = query.itemClass.flatMap(ItemClass.init), query.data(kSecValuePersistentRef) == nil
  else { return errSecParam }
  let simulation = query.context?.simulation ?? LASimulation.current
  do throws(KeychainRefusal) {
    let added: AddedItem
    switch itemClass {
    case .certificate, .identity: return errSecUnimplemented
    case .key:
      guard let key = query.key(kSecValueRef) else { return errSecParam }
      added = try addKey(key, query, to: simulation)
    case .genericPassword, .internetPassword:
      let data = query.data(kSecValueData) ?? Data()
      added = AddedItem(item: try add(data, query, as: itemClass, to: simulation), data: data, key: nil)
    }
    result?.pointee = Wanted(query).value(of: added.item, data: added.data, key: added.key)
    return errSecSuccess
  } catch {
    return error.status
  }
}

/// Blocks during a prompt, if the query wants an item's data and the item requires a proof; otherwise returns at once.
/// - Returns: in `result` one item's value, or an array of them if the limit is not one.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  let query = KeychainQuery(query)
  guard let itemClass = query.itemClass.flatMap(ItemClass.init), let limit = query.limit else { return errSecParam }
  let session = query.session(in: LASimulation.current)
  var items = find(query, itemClass, in: session.simulation)
  let opening = query.opening
  if opening == .skipping { items.removeAll { isLocked($0, to: session) } }
  guard !items.isEmpty else { return errSecItemNotFound }
  let wanted = Wanted(query)
  do throws(KeychainRefusal) {
    var found: [CFTypeRef] = []
    for item in items.prefix(limit) {
      let data = wanted.needsData(of: item) ? try read(item, session, opening) : nil
      let key = wanted.reference ? SecKey(item, data, session.simulation, context: query.context) : nil
      if let value = wanted.value(of: item, data: data, key: key) { found.append(value) }
    }
    result?.pointee = limit == 1 ? found.first : found as NSArray
    return errSecSuccess
  } catch {
    return error.status
  }
}

/// Blocks during a prompt, if an item's data or access control changes and the item requires a proof.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  let query = KeychainQuery(query)
  let update = KeychainQuery(attributesToUpdate)
  guard let itemClass = query.itemClass.flatMap(ItemClass.init) else { return errSecParam }
  let session = query.session(in: LASimulation.current)
  let items = find(query, itemClass, in: session.simulation)
  guard !items.isEmpty else { return errSecItemNotFound }
  let changes = SimulatedPhone.KeychainChanges(
    update.attributesOfUpdate(at: Date()), data: update.data(kSecValueData).map { [UInt8]($0) },
    accessControl: update.accessControl)
  do throws(KeychainRefusal) {
    for item in items {
      if changes.data != nil || changes.accessControl != nil { try open(item, session, query.opening) }
      try refusing { () throws(SimulatedPhone.KeychainError) in
        try session.simulation.phone.updateItem(item, changes, identity: itemClass.identity)
      }
    }
    return errSecSuccess
  } catch {
    return error.status
  }
}

/// Shows no prompt, as on a phone.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  let query = KeychainQuery(query)
  guard let itemClass = query.itemClass.flatMap(ItemClass.init) else { return errSecParam }
  let simulation = query.context?.simulation ?? LASimulation.current
  let items = find(query, itemClass, in: simulation)
  items.forEach(simulation.phone.deleteItem)
  return items.isEmpty ? errSecItemNotFound : errSecSuccess
}

/// Why a call of a keychain or a key failed.
struct KeychainRefusal: Error {
  let status: OSStatus
}

enum ItemClass: String {
  case genericPassword = "genp"
  case internetPassword = "inet"
  case key = "keys"
  /// The simulated phone has neither of these.
  case certificate = "cert"
  case identity = "idnt"

  /// The attributes that distinguish items of one class.
  var identity: Set<String> {
    let names: [CFString] =
      switch self {
      case .genericPassword: [kSecAttrAccount, kSecAttrService]
      case .internetPassword:
        [
          kSecAttrAccount, kSecAttrSecurityDomain, kSecAttrServer, kSecAttrProtocol, kSecAttrAuthenticationType,
          kSecAttrPort, kSecAttrPath,
        ]
      case .key:
        [
          kSecAttrApplicationTag, kSecAttrApplicationLabel, kSecAttrKeyClass, kSecAttrKeyType, kSecAttrKeySizeInBits,
          kSecAttrEffectiveKeySize, kSecAttrTokenID,
        ]
      case .certificate, .identity: []
      }
    return Set((names + [kSecAttrAccessGroup, kSecAttrSynchronizable]).map { $0 as String })
  }
}

// MARK: Adding

struct AddedItem {
  let item: SimulatedPhone.KeychainItem
  let data: Data?
  let key: SecKey?
}

/// Puts a key into its app's keychain: one of the phone's keys whole, a public half as bytes.
@discardableResult
func addKey(
  _ key: SecKey, _ query: KeychainQuery, to simulation: LASimulation
) throws(KeychainRefusal) -> AddedItem {
  let attributes = query.attributesOfNewItem(of: simulation.application, at: Date()).merging(key.identifyingAttributes)
  { $1 }
  switch key.kind {
  case .inPhone(let inPhone, let simulation, _):
    return AddedItem(item: try add(.key(inPhone), attributes, as: .key, to: simulation), data: nil, key: key)
  case .publicHalf(let bytes):
    let content = SimulatedPhone.KeychainContent.data(bytes, query.accessControl ?? .init())
    return AddedItem(item: try add(content, attributes, as: .key, to: simulation), data: Data(bytes), key: key)
  }
}

private func add(
  _ data: Data, _ query: KeychainQuery, as itemClass: ItemClass, to simulation: LASimulation
) throws(KeychainRefusal) -> SimulatedPhone.KeychainItem {
  try add(
    .data([UInt8](data), query.accessControl ?? .init()),
    query.attributesOfNewItem(of: simulation.application, at: Date()), as: itemClass, to: simulation)
}

private func add(
  _ content: SimulatedPhone.KeychainContent, _ attributes: SimulatedPhone.KeychainItem.Attributes,
  as itemClass: ItemClass, to simulation: LASimulation
) throws(KeychainRefusal) -> SimulatedPhone.KeychainItem {
  try refusing { () throws(SimulatedPhone.KeychainError) in
    try simulation.phone.addItem(
      itemClass.rawValue, attributes, identity: itemClass.identity, content: content,
      application: simulation.application)
  }
}

// MARK: Finding and reading

private func find(
  _ query: KeychainQuery, _ itemClass: ItemClass, in simulation: LASimulation
) -> [SimulatedPhone.KeychainItem] {
  let items = simulation.phone.items(
    itemClass.rawValue, matching: query.searchedAttributes, application: simulation.application)
  guard query.data(kSecValuePersistentRef) != nil else { return items }
  return items.filter { $0.id.number == query.persistentReference?.number }
}

private func isLocked(_ item: SimulatedPhone.KeychainItem, to session: ContextSession) -> Bool {
  item.key == nil && session.simulation.phone.demand(of: item, after: session.authentications) != nil
}

private func open(
  _ item: SimulatedPhone.KeychainItem, _ session: ContextSession, _ opening: KeychainQuery.Opening
) throws(KeychainRefusal) {
  if opening == .forbidden, isLocked(item, to: session) { throw KeychainRefusal(status: errSecInteractionNotAllowed) }
  if let refusal = session.proveAndWait(until: { phone, proven in phone.demand(of: item, after: proven) }) {
    throw KeychainRefusal(status: refusal.keychainStatus)
  }
}

private func read(
  _ item: SimulatedPhone.KeychainItem, _ session: ContextSession, _ opening: KeychainQuery.Opening
) throws(KeychainRefusal) -> Data {
  try open(item, session, opening)
  return try refusing { () throws(SimulatedPhone.KeychainError) in
    Data(try session.simulation.phone.data(of: item, after: session.authentications))
  }
}

private func refusing<Value>(
  _ body: () throws(SimulatedPhone.KeychainError) -> Value
) throws(KeychainRefusal) -> Value {
  do throws(SimulatedPhone.KeychainError) {
    return try body()
  } catch {
    throw KeychainRefusal(status: error.status)
  }
}

/// The values that a query wants returned (`kSecReturn…`).
private struct Wanted {
  let data: Bool
  let attributes: Bool
  let reference: Bool
  let persistentReference: Bool

  init(_ query: KeychainQuery) {
    data = query.bool(kSecReturnData) ?? false
    attributes = query.bool(kSecReturnAttributes) ?? false
    reference = query.bool(kSecReturnRef) ?? false
    persistentReference = query.bool(kSecReturnPersistentRef) ?? false
  }

  /// Keys of the phone have none.
  func needsData(of item: SimulatedPhone.KeychainItem) -> Bool {
    item.key == nil && (data || reference && item.itemClass == ItemClass.key.rawValue)
  }

  /// A single value as it is; attributes, or several values, as a dictionary. `nil`: the query wants nothing, or
  /// nothing is there.
  func value(of item: SimulatedPhone.KeychainItem, data: Data?, key: SecKey?) -> CFTypeRef? {
    var values: [String: Any] = [:]
    if self.data { values[kSecValueData as String] = data }
    if reference { values[kSecValueRef as String] = key }
    if persistentReference { values[kSecValuePersistentRef as String] = PersistentReference(item).data }
    let isOne = [self.data, reference, persistentReference].filter { $0 }.count < 2
    if isOne, !attributes { return values.first.map { $0.value as AnyObject } }
    if attributes {
      values.merge(item.attributes.compactMapValues(StoredValue.decode)) { value, _ in value }
      values[kSecClass as String] = item.itemClass
      values[kSecAttrAccessControl as String] = SecAccessControl(
        item.accessControl, accessibility: values[kSecAttrAccessible as String] as? String ?? "")
    }
    return values as NSDictionary
  }
}

extension SecKey {
  /// The key of an item; `nil`: the item is no key.
  /// - Parameter data: a public half.
  fileprivate convenience init?(
    _ item: SimulatedPhone.KeychainItem, _ data: Data?, _ simulation: LASimulation, context: ContextSession?
  ) {
    if let key = item.key {
      self.init(.inPhone(key, simulation, context: context))
    } else if item.itemClass == ItemClass.key.rawValue, let data {
      self.init(.publicHalf([UInt8](data)))
    } else {
      return nil
    }
  }
}

extension KeychainQuery {
  /// How to handle items that require a proof (`kSecUseAuthenticationUI`).
  fileprivate enum Opening {
    case allowed
    case forbidden
    case skipping
  }

  fileprivate var opening: Opening {
    let choice = string(kSecUseAuthenticationUI)
    if choice == kSecUseAuthenticationUIFail as String || bool(kSecUseNoAuthenticationUI) == true { return .forbidden }
    return choice == kSecUseAuthenticationUISkip as String ? .skipping : .allowed
  }
}

extension SimulatedPhone.KeychainError {
  fileprivate var status: OSStatus {
    switch self {
    case .itemNotFound: errSecItemNotFound
    case .duplicateItem: errSecDuplicateItem
    case .notAuthenticated: errSecAuthFailed
    }
  }
}

extension LAError {
  /// The keychain's result for it.
  var keychainStatus: OSStatus {
    switch code {
    case .userCancel, .systemCancel, .appCancel: errSecUserCanceled
    case .notInteractive: errSecInteractionNotAllowed
    default: errSecAuthFailed
    }
  }
}
