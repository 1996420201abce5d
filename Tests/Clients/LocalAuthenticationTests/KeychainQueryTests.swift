// The parts of queries beyond class and name: which items match, how many, and which results are returned.

import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("Keychain queries")
struct KeychainQueryTests {
  private let phone = SimulatedPhone.withThumb()

  private func item(_ account: String, _ more: [CFString: Any] = [:]) -> [CFString: Any] {
    [kSecClass: kSecClassGenericPassword, kSecAttrService: "login", kSecAttrAccount: account].merging(more) { $1 }
  }

  private func run<Value>(_ body: () throws -> Value) rethrows -> Value {
    try LASimulation(phone: phone).run(body)
  }

  @discardableResult
  private func add(_ account: String, _ more: [CFString: Any] = [:]) -> OSStatus {
    run {
      SecItemAdd(
        item(account, more.merging([kSecValueData: Data(account.utf8)]) { given, _ in given }) as CFDictionary, nil)
    }
  }

  private func copy(_ query: [CFString: Any]) -> (status: OSStatus, result: CFTypeRef?) {
    run {
      var result: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &result)
      return (status, result)
    }
  }

  private func accounts(_ more: [CFString: Any] = [:]) -> [String] {
    let query: [CFString: Any] = [
      kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
    ]
    let items = copy(query.merging(more) { $1 }).result as? [[String: Any]] ?? []
    return items.compactMap { $0[kSecAttrAccount as String] as? String }
  }

  // MARK: Which items

  @Test("Items that synchronize are others, and found only by who asks for them")
  func synchronizable() {
    #expect(add("alice") == errSecSuccess)
    #expect(add("alice", [kSecAttrSynchronizable: true]) == errSecSuccess)
    #expect(add("bob", [kSecAttrSynchronizable: kCFBooleanTrue as Any]) == errSecSuccess)
    #expect(add("alice", [kSecAttrSynchronizable: false]) == errSecDuplicateItem)
    #expect(add("bob", [kSecAttrSynchronizable: true]) == errSecDuplicateItem)
    #expect(accounts() == ["alice"])
    #expect(accounts([kSecAttrSynchronizable: true]) == ["alice", "bob"])
    #expect(accounts([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == ["alice", "alice", "bob"])

    let (_, attributes) = copy(item("bob", [kSecAttrSynchronizable: true, kSecReturnAttributes: true]))
    #expect((attributes as? [String: Any])?[kSecAttrSynchronizable as String] as? Bool == true)
    run {
      #expect(SecItemDelete(item("bob") as CFDictionary) == errSecItemNotFound)
      #expect(SecItemUpdate(item("bob") as CFDictionary, [:]) == errSecItemNotFound)
      let any = [kSecClass: kSecClassGenericPassword, kSecAttrSynchronizable: kSecAttrSynchronizableAny]
      #expect(SecItemDelete(any as CFDictionary) == errSecSuccess)
    }
    #expect(accounts([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == [])
  }

  @Test("Every attribute that tells items apart is matched")
  func internetPasswords() {
    run {
      for (type, path) in [
        (kSecAttrAuthenticationTypeHTTPBasic, "/"), (kSecAttrAuthenticationTypeHTTPDigest, "/"),
        (kSecAttrAuthenticationTypeHTTPBasic, "/login"),
      ] {
        let item: [CFString: Any] = [
          kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com", kSecAttrProtocol: kSecAttrProtocolHTTPS,
          kSecAttrAuthenticationType: type, kSecAttrPath: path,
        ]
        #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
        #expect(SecItemAdd(item as CFDictionary, nil) == errSecDuplicateItem)
      }
    }
    func count(_ more: [CFString: Any]) -> Int {
      let query: [CFString: Any] = [
        kSecClass: kSecClassInternetPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
      ]
      return (copy(query.merging(more) { $1 }).result as? [Any])?.count ?? 0
    }
    #expect(count([:]) == 3)
    #expect(count([kSecAttrAuthenticationType: kSecAttrAuthenticationTypeHTTPBasic]) == 2)
    #expect(count([kSecAttrPath: "/"]) == 2)
    #expect(count([kSecAttrProtocol: kSecAttrProtocolHTTP]) == 0)
  }

  @Test("Certificates and identities can be looked for; the phone has none")
  func classes() {
    run {
      for itemClass in [kSecClassCertificate, kSecClassIdentity] {
        let query = [kSecClass: itemClass] as CFDictionary
        #expect(SecItemAdd(query, nil) == errSecUnimplemented)
        #expect(SecItemCopyMatching(query, nil) == errSecItemNotFound)
        #expect(SecItemUpdate(query, [:]) == errSecItemNotFound)
        #expect(SecItemDelete(query) == errSecItemNotFound)
      }
    }
  }

  // MARK: How many

  @Test("As many as the limit says; one as it is, more as an array")
  func limits() {
    for name in ["a", "b", "c"] { add(name) }
    #expect(accounts([kSecMatchLimit: 2]) == ["a", "b"])
    #expect(accounts([kSecMatchLimit: 100]) == ["a", "b", "c"])
    #expect(accounts([kSecMatchLimit: NSNumber(value: 3)]) == ["a", "b", "c"])
    for one in [1, NSNumber(value: 1), kSecMatchLimitOne] as [Any] {
      let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecReturnData: true, kSecMatchLimit: one]
      #expect(copy(query).result as? Data == Data("a".utf8))
    }
    for none in [0, -1, "several"] as [Any] {
      #expect(copy([kSecClass: kSecClassGenericPassword, kSecMatchLimit: none]).status == errSecParam)
    }
  }

  // MARK: Results

  @Test("One thing as it is, several and attributes as a dictionary")
  func results() throws {
    add("alice")
    #expect(copy(item("alice")).result == nil)
    #expect(copy(item("alice", [kSecReturnData: true])).result as? Data == Data("alice".utf8))
    #expect(copy(item("alice", [kSecReturnData: false, kSecReturnPersistentRef: true])).result is Data)
    let (_, both) = copy(item("alice", [kSecReturnData: true, kSecReturnPersistentRef: true]))
    let values = try #require(both as? [String: Any])
    #expect(Set(values.keys) == [kSecValueData as String, kSecValuePersistentRef as String])
    let (_, all) = copy(
      item("alice", [kSecReturnData: true, kSecReturnPersistentRef: true, kSecReturnAttributes: true]))
    let attributes = try #require(all as? [String: AnyHashable])
    #expect(attributes[kSecValueData as String] as? Data == Data("alice".utf8))
    #expect(attributes[kSecAttrAccount as String] as? String == "alice")
    #expect(attributes[kSecAttrAccessGroup as String] as? String == LASimulation.current.application)
    #expect(attributes[kSecAttrCreationDate as String] is Date)
  }

  @Test("A result's keys are found as CFString too, where it was cast to AnyHashable")
  func keysOfResults() throws {
    add("alice")
    let result = copy(item("alice", [kSecReturnAttributes: true])).result
    let attributes = try #require(result as? [AnyHashable: Any])
    #expect(attributes[kSecAttrAccount] as? String == "alice")
    #expect(attributes[kSecAttrAccount as String] as? String == "alice")
  }

  @Test("SecItemAdd returns what it is asked to")
  func added() throws {
    let context = LASimulation(phone: .withThumb(person: .init(habitAtSensor: .tapCancel))).run { LAContext() }
    let control = try #require(
      SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .biometryAny, nil))
    func add(_ account: String, _ more: [CFString: Any]) -> CFTypeRef? {
      var result: CFTypeRef?
      let query = item(account, [kSecValueData: Data([1]), kSecUseAuthenticationContext: context]).merging(more) { $1 }
      #expect(SecItemAdd(query as CFDictionary, &result) == errSecSuccess)
      return result
    }
    #expect(add("nothing", [:]) == nil)
    // The keychain does not prompt for the item that the app just added.
    #expect(add("data", [kSecReturnData: true, kSecAttrAccessControl: control]) as? Data == Data([1]))
    let attributes = add("attributes", [kSecReturnAttributes: true, kSecAttrAccessControl: control]) as? [String: Any]
    #expect(attributes?[kSecAttrAccount as String] as? String == "attributes")
    #expect(attributes?[kSecAttrAccessControl as String] as? SecAccessControl == control)
    let reference = try #require(add("reference", [kSecReturnPersistentRef: true]) as? Data)
    var data: CFTypeRef?
    let query: [CFString: Any] = [
      kSecValuePersistentRef: reference, kSecReturnData: true, kSecUseAuthenticationContext: context,
    ]
    #expect(SecItemCopyMatching(query as CFDictionary, &data) == errSecSuccess)
    #expect(data as? Data == Data([1]))
  }

  @Test("A persistent reference finds, updates and deletes its item, for its app, as long as it is there")
  func persistentReferences() throws {
    add("alice", [kSecAttrSynchronizable: true])
    add("bob")
    let wanted = item("alice", [kSecReturnPersistentRef: true, kSecAttrSynchronizable: true])
    let reference = try #require(copy(wanted).result as? Data)
    let query: [CFString: Any] = [kSecValuePersistentRef: reference]
    func read(_ more: [CFString: Any] = [:]) -> Data? {
      copy(query.merging([kSecReturnData: true]) { $1 }.merging(more) { $1 }).result as? Data
    }
    #expect(read() == Data("alice".utf8))
    #expect(read([kSecClass: kSecClassGenericPassword]) == Data("alice".utf8))
    #expect(read([kSecClass: kSecClassInternetPassword]) == nil)
    run {
      #expect(SecItemUpdate(query as CFDictionary, [kSecAttrAccount: "carol"] as [CFString: Any] as CFDictionary) == 0)
      #expect(SecItemAdd(query as CFDictionary, nil) == errSecParam)
    }
    #expect(accounts([kSecAttrSynchronizable: true]) == ["carol"])
    let another = LASimulation(phone: phone, application: "com.example.other")
    another.run { #expect(SecItemDelete(query as CFDictionary) == errSecItemNotFound) }
    run {
      #expect(SecItemDelete(query as CFDictionary) == errSecSuccess)
      #expect(SecItemDelete(query as CFDictionary) == errSecItemNotFound)
    }
    add("dave")
    #expect(read() == nil)
    #expect(accounts() == ["bob", "dave"])
    for garbage in [Data(), Data("genp".utf8), Data("genp".utf8) + Data(repeating: 0xff, count: 8)] {
      for base in [item("bob"), [:]] {
        let query = base.merging([kSecValuePersistentRef: garbage]) { $1 }
        #expect([errSecItemNotFound, errSecParam].contains(copy(query).status))
        run { #expect(SecItemDelete(query as CFDictionary) != errSecSuccess) }
      }
    }
    #expect(accounts() == ["bob", "dave"])
  }

  // MARK: Updates

  @Test("An update puts an item behind an access control, and asks for what is behind one")
  func updatedAccess() throws {
    add("alice")
    let control = try #require(
      SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, .biometryAny, nil))
    func update(_ changes: [CFString: Any]) -> OSStatus {
      run { SecItemUpdate(item("alice") as CFDictionary, changes as CFDictionary) }
    }
    #expect(update([kSecAttrAccessControl: control]) == errSecSuccess)
    let forbidden = item("alice", [kSecReturnData: true, kSecUseAuthenticationUI: kSecUseAuthenticationUIFail])
    #expect(copy(forbidden).status == errSecInteractionNotAllowed)
    #expect(copy(item("alice", [kSecReturnData: true, kSecUseNoAuthenticationUI: true])).status == -25308)
    let attributes = copy(item("alice", [kSecReturnAttributes: true])).result as? [String: Any]
    #expect(
      attributes?[kSecAttrAccessible as String] as? String == kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String)
    phone.setPerson(.init(habitAtSensor: .tapCancel))
    #expect(update([kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked]) == errSecUserCanceled)
    #expect(update([kSecAttrLabel: "Login"]) == errSecSuccess)
    phone.setPerson(.presenting(.finger("thumb")))
    #expect(update([kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked]) == errSecSuccess)
    #expect(copy(forbidden).result as? Data == Data("alice".utf8))
  }

  @Test("No update makes two items of one name")
  func collision() {
    for name in ["alice", "bob"] { add(name) }
    run {
      let change = [kSecAttrAccount: "alice"] as CFDictionary
      #expect(SecItemUpdate(item("bob") as CFDictionary, change) == errSecDuplicateItem)
    }
    #expect(accounts() == ["alice", "bob"])
  }
}
