// The keychain (SecItem.h): passwords and keys, found by what describes them, opened by who is present.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
internal import SimulatedPhone

/// - Parameter result: not written to: ask with `SecItemCopyMatching`.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  let query = KeychainQuery(attributes)
  let simulation = query.context?.simulation ?? LASimulation.current
  switch query.itemClass.flatMap(ItemClass.init) {
  case nil: return errSecParam
  case .key?:
    guard case .inPhone(let key, let simulation, _)? = query.key(kSecValueRef)?.kind else { return errSecParam }
    return addKey(key, query.attributesOfNewItem, to: simulation)
  case let passwordClass?:
    let content = SimulatedPhone.KeychainContent.data([UInt8](query.data(kSecValueData) ?? Data()), query.accessControl)
    return add(content, query.attributesOfNewItem, as: passwordClass, to: simulation)
  }
}

/// Blocks while the person is asked, where an item's data is wanted and the item asks for it.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  let query = KeychainQuery(query)
  guard let itemClass = query.itemClass.flatMap(ItemClass.init) else { return errSecParam }
  let session = query.session(in: LASimulation.current)
  var items = find(query, itemClass, in: session.simulation)
  let opening = query.opening
  if opening == .skipping { items.removeAll { isLocked($0, to: session) } }
  guard !items.isEmpty else { return errSecItemNotFound }
  let wantsAll = query.string(kSecMatchLimit) == kSecMatchLimitAll as String
  var found: [CFTypeRef] = []
  for item in wantsAll ? items : [items[0]] {
    if query.bool(kSecReturnData), item.key == nil, opening == .forbidden, isLocked(item, to: session) {
      return errSecInteractionNotAllowed
    }
    switch read(item, query, session) {
    case .success(let value): if let value { found.append(value) }
    case .failure(let failure): return failure.status
    }
  }
  result?.pointee = wantsAll ? found as NSArray : found.first
  return errSecSuccess
}

/// Blocks while the person is asked, where an item's data is to be replaced and the item asks for it.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
  let query = KeychainQuery(query)
  let changes = KeychainQuery(attributesToUpdate)
  guard let itemClass = query.itemClass.flatMap(ItemClass.init) else { return errSecParam }
  let session = query.session(in: LASimulation.current)
  let items = find(query, itemClass, in: session.simulation)
  guard !items.isEmpty else { return errSecItemNotFound }
  let data = changes.data(kSecValueData).map { [UInt8]($0) }
  for item in items {
    if data != nil, let refusal = open(item, session) { return refusal.keychainStatus }
    session.simulation.phone.updateItem(item, changes.attributes, data: data)
  }
  return errSecSuccess
}

/// Asks nobody, as on a phone.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
  let query = KeychainQuery(query)
  guard let itemClass = query.itemClass.flatMap(ItemClass.init) else { return errSecParam }
  let simulation = query.context?.simulation ?? LASimulation.current
  let items = find(query, itemClass, in: simulation)
  items.forEach(simulation.phone.deleteItem)
  return items.isEmpty ? errSecItemNotFound : errSecSuccess
}

/// Those that the simulated phone has.
private enum ItemClass: String {
  case genericPassword = "genp"
  case internetPassword = "inet"
  case key = "keys"

  /// What tells an item from others of its class.
  var identity: Set<String> {
    let names: [CFString] =
      switch self {
      case .genericPassword: [kSecAttrAccount, kSecAttrService, kSecAttrAccessGroup]
      case .internetPassword:
        [kSecAttrAccount, kSecAttrServer, kSecAttrProtocol, kSecAttrPort, kSecAttrPath, kSecAttrAccessGroup]
      case .key:
        [kSecAttrApplicationTag, kSecAttrApplicationLabel, kSecAttrKeyClass, kSecAttrKeyType, kSecAttrAccessGroup]
      }
    return Set(names.map { $0 as String })
  }
}

/// Puts a key of the phone's into its app's keychain.
func addKey(
  _ key: SimulatedPhone.Key, _ attributes: SimulatedPhone.KeychainItem.Attributes, to simulation: LASimulation
) -> OSStatus {
  let own: [(CFString, Any)] = [
    (kSecAttrApplicationLabel, Data(key.applicationLabel)), (kSecAttrKeyClass, kSecAttrKeyClassPrivate as String),
    (kSecAttrKeyType, kSecAttrKeyTypeECSECPrimeRandom as String), (kSecAttrKeySizeInBits, 256),
  ]
  var attributes = attributes
  for (name, value) in own { attributes[name as String] = StoredValue.encode(value) }
  return add(.key(key), attributes, as: .key, to: simulation)
}

private func add(
  _ content: SimulatedPhone.KeychainContent, _ attributes: SimulatedPhone.KeychainItem.Attributes,
  as itemClass: ItemClass, to simulation: LASimulation
) -> OSStatus {
  do throws(SimulatedPhone.KeychainError) {
    _ = try simulation.phone.addItem(
      itemClass.rawValue, attributes, identity: itemClass.identity, content: content,
      application: simulation.application)
    return errSecSuccess
  } catch {
    return error.status
  }
}

private func find(
  _ query: KeychainQuery, _ itemClass: ItemClass, in simulation: LASimulation
) -> [SimulatedPhone.KeychainItem] {
  simulation.phone.items(itemClass.rawValue, matching: query.attributes, application: simulation.application)
}

private func isLocked(_ item: SimulatedPhone.KeychainItem, to session: ContextSession) -> Bool {
  item.key == nil && session.simulation.phone.demand(of: item, after: session.authentications) != nil
}

private func open(_ item: SimulatedPhone.KeychainItem, _ session: ContextSession) -> LAError? {
  session.proveAndWait { phone, proven in phone.demand(of: item, after: proven) }
}

private struct Unreadable: Error {
  let status: OSStatus
}

/// - Returns: what the query asks to have returned; `nil`: nothing.
private func read(
  _ item: SimulatedPhone.KeychainItem, _ query: KeychainQuery, _ session: ContextSession
) -> Result<CFTypeRef?, Unreadable> {
  var data: NSData?
  if query.bool(kSecReturnData), item.key == nil {
    if let refusal = open(item, session) { return .failure(Unreadable(status: refusal.keychainStatus)) }
    do throws(SimulatedPhone.KeychainError) {
      data = Data(try session.simulation.phone.data(of: item, after: session.authentications)) as NSData
    } catch {
      return .failure(Unreadable(status: error.status))
    }
  }
  let key =
    query.bool(kSecReturnRef)
    ? item.key.map { SecKey(.inPhone($0, session.simulation, context: query.context)) } : nil
  guard query.bool(kSecReturnAttributes) else { return .success(data ?? key) }
  var attributes = item.attributes.compactMapValues(StoredValue.decode)
  attributes[kSecClass as String] = item.itemClass
  attributes[kSecAttrAccessControl as String] = SecAccessControl(
    item.accessControl, accessibility: attributes[kSecAttrAccessible as String] as? String ?? "")
  attributes[kSecValueData as String] = data
  attributes[kSecValueRef as String] = key
  return .success(attributes as NSDictionary)
}

extension KeychainQuery {
  /// What to do about items that ask for a person (`kSecUseAuthenticationUI`).
  fileprivate enum Opening {
    case allowed
    case forbidden
    case skipping
  }

  fileprivate var opening: Opening {
    let choice = string(kSecUseAuthenticationUI)
    if choice == kSecUseAuthenticationUIFail as String { return .forbidden }
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
  /// What the keychain makes of it.
  fileprivate var keychainStatus: OSStatus {
    switch code {
    case .userCancel, .systemCancel, .appCancel: errSecUserCanceled
    case .notInteractive: errSecInteractionNotAllowed
    default: errSecAuthFailed
    }
  }
}
