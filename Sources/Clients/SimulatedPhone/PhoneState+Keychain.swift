// The keychain: items are added, found, opened by the person who is present, and destroyed.

extension PhoneState {
  typealias Item = SimulatedPhone.KeychainItem

  struct KeychainRecord: Sendable {
    var item: Item
    var data: [UInt8]
    let application: String
    var accessGuard: AccessGuard
  }

  /// - Parameter identity: the names of the attributes that distinguish items of one class.
  mutating func addItem(
    _ itemClass: String, _ attributes: Item.Attributes, identity: Set<String>, content: Phone.KeychainContent,
    application: String
  ) -> Result<Item, Phone.KeychainError> {
    guard !isTaken(attributes.filter { identity.contains($0.key) }, identity, itemClass, application)
    else { return .failure(.duplicateItem) }
    return accessGuard(for: content).map { accessGuard in
      keychainItemsAdded += 1
      let item = Item(
        id: .init(number: keychainItemsAdded), itemClass: itemClass, attributes: attributes,
        accessControl: accessGuard.accessControl, key: content.key)
      keychain[item.id] = KeychainRecord(
        item: item, data: content.data, application: application, accessGuard: accessGuard)
      return item
    }
  }

  /// - Parameter id: the item that may have that name, because it is its own.
  private func isTaken(
    _ name: Item.Attributes, _ identity: Set<String>, _ itemClass: String, _ application: String,
    apartFrom id: Item.ID? = nil
  ) -> Bool {
    items(itemClass, matching: name, application: application)
      .contains { item in item.id != id && item.attributes.filter { identity.contains($0.key) } == name }
  }

  private func accessGuard(for content: Phone.KeychainContent) -> Result<AccessGuard, Phone.KeychainError> {
    switch content {
    case .key(let key):
      return keys[key.publicKeyX963].map { .success($0.accessGuard) } ?? .failure(.itemNotFound)
    case .data(_, let accessControl):
      let accessGuard = AccessGuard(accessControl)
      return obstacle(toMaking: accessGuard).map { .failure(.notAuthenticated($0)) } ?? .success(accessGuard)
    }
  }

  /// In the order in which they were added.
  func items(_ itemClass: String, matching query: Item.Attributes, application: String) -> [Item] {
    keychain.values
      .filter { $0.application == application && $0.item.itemClass == itemClass && $0.item.matches(query) }
      .map(\.item)
      .sorted { $0.id.number < $1.id.number }
  }

  /// - Returns: its data, empty if it is a key.
  func open(_ id: Item.ID, after authentications: [Phone.Authentication]) -> Result<[UInt8], Phone.KeychainError> {
    guard let record = keychain[id] else { return .failure(.itemNotFound) }
    let proven = proven(by: authentications, to: record.application)
    guard record.accessGuard.demand(after: proven) == nil
    else { return .failure(.notAuthenticated(.authenticationFailed)) }
    return .success(record.data)
  }

  /// Returns the policy that must still succeed before the item opens; `nil`: none, or there is no such item.
  func demand(of id: Item.ID, after authentications: [Phone.Authentication]) -> Phone.Policy? {
    keychain[id].flatMap { record in
      record.accessGuard.demand(after: proven(by: authentications, to: record.application)).map(Phone.Policy.init)
    }
  }

  /// - Parameter identity: as for `addItem`. If a change would give two items one name, nothing is changed.
  mutating func updateItem(
    _ id: Item.ID, _ changes: Phone.KeychainChanges, identity: Set<String>
  ) -> Result<Void, Phone.KeychainError> {
    guard let record = keychain[id] else { return .failure(.itemNotFound) }
    let attributes = record.item.attributes.merging(changes.attributes) { $1 }
    let name = attributes.filter { identity.contains($0.key) }
    guard !isTaken(name, identity, record.item.itemClass, record.application, apartFrom: id)
    else { return .failure(.duplicateItem) }
    var accessGuard = record.accessGuard
    // A key's own access control lasts as long as the key.
    if let accessControl = changes.accessControl, record.item.key == nil {
      accessGuard = AccessGuard(accessControl)
      if let obstacle = obstacle(toMaking: accessGuard) { return .failure(.notAuthenticated(obstacle)) }
    }
    let item = Item(
      id: id, itemClass: record.item.itemClass, attributes: attributes, accessControl: accessGuard.accessControl,
      key: record.item.key)
    keychain[id] = KeychainRecord(
      item: item, data: changes.data ?? record.data, application: record.application, accessGuard: accessGuard)
    return .success(())
  }

  /// A key goes with the item that names it.
  mutating func deleteItem(_ id: Item.ID) {
    if let key = keychain.removeValue(forKey: id)?.item.key { deleteKey(key) }
  }
}

// Shared by keys and items.
extension PhoneState {
  /// Refuses an item that no person could ever open: without a passcode, or for the current set if nothing is enrolled.
  func obstacle(toMaking accessGuard: AccessGuard) -> Phone.Failure? {
    if accessGuard.diesWithPasscode, passcode == nil { return .passcodeNotSet }
    if accessGuard.accessControl.conditions.contains(.biometryCurrentSet), enrolled.isEmpty {
      return .biometryNotEnrolled
    }
    return nil
  }

  /// The proofs on this phone for this app.
  func proven(by authentications: [Phone.Authentication], to application: String) -> Set<Phone.Factor> {
    Set(authentications.filter { $0.phoneSecret == secret && $0.application == application }.map(\.factor))
  }

  mutating func destroyWhatDiesWithPasscode() {
    keys = keys.filter { !$0.value.accessGuard.diesWithPasscode }
    keychain = keychain.filter { !$0.value.accessGuard.diesWithPasscode }
  }

  /// For good: enrolling the same finger again restores none of them.
  mutating func destroyWhatDiesWithCurrentSet() {
    for key in keys.keys { keys[key]?.accessGuard.biometryChanged() }
    for id in keychain.keys { keychain[id]?.accessGuard.biometryChanged() }
    keys = keys.filter { !$0.value.accessGuard.isDead }
    keychain = keychain.filter { !$0.value.accessGuard.isDead }
  }
}

extension SimulatedPhone.KeychainContent {
  fileprivate var key: SimulatedPhone.Key? {
    if case .key(let key) = self { key } else { nil }
  }

  fileprivate var data: [UInt8] {
    if case .data(let data, _) = self { data } else { [] }
  }
}
