// The keychain: what an app finds again, who opens it, what destroys it.

import SimulatedPhone
import Testing

@Suite("Keychain")
struct KeychainTests {
  private let phone = Phone.owned()

  private static let identity: Set<String> = ["acct", "svce"]
  private static let account: Phone.KeychainItem.Attributes = [
    "acct": Array("alice".utf8), "svce": Array("login".utf8),
  ]

  @discardableResult
  private func add(
    _ data: String = "token", to phone: Phone, _ attributes: Phone.KeychainItem.Attributes = account,
    behind accessControl: Phone.AccessControl = .init(), application: String = Phone.shop
  ) throws(Phone.KeychainError) -> Phone.KeychainItem {
    try phone.addItem(
      "genp", attributes, identity: Self.identity, content: .data(Array(data.utf8), accessControl),
      application: application)
  }

  private func items(
    on phone: Phone, matching query: Phone.KeychainItem.Attributes = [:], application: String = Phone.shop
  ) -> [Phone.KeychainItem] {
    phone.items("genp", matching: query, application: application)
  }

  private func read(_ item: Phone.KeychainItem, on phone: Phone) throws(Phone.KeychainError) -> String {
    String(decoding: try phone.data(of: item, after: []), as: UTF8.self)
  }

  // MARK: Names

  @Test("An item is found by any of its attributes, by its app and in its class alone")
  func finding() throws {
    let item = try add(to: phone)
    #expect(items(on: phone) == [item])
    #expect(items(on: phone, matching: ["acct": Array("alice".utf8)]) == [item])
    #expect(items(on: phone, matching: ["acct": Array("bob".utf8)]) == [])
    #expect(items(on: phone, matching: ["labl": Array("alice".utf8)]) == [])
    #expect(items(on: phone, application: Phone.bank) == [])
    #expect(phone.items("inet", matching: [:], application: Phone.shop) == [])
    #expect(try read(item, on: phone) == "token")
  }

  @Test("What names an item tells it from others, and nothing else does")
  func duplicates() throws {
    try add(to: phone)
    var labelled = Self.account
    labelled["labl"] = Array("another label".utf8)
    #expect(throws: Phone.KeychainError.duplicateItem) { try add(to: phone, labelled) }
    var unnamed = Self.account
    unnamed["svce"] = nil
    try add(to: phone, unnamed)
    try add(to: phone, application: Phone.bank)
    #expect(items(on: phone).count == 2)
  }

  @Test("An update keeps what it does not name; a deleted item is gone")
  func changing() throws {
    let item = try add(to: phone)
    try phone.updateItem(item, .init(["labl": [1]]), identity: Self.identity)
    #expect(try read(item, on: phone) == "token")
    try phone.updateItem(item, .init(["svce": [2]], data: Array("newer".utf8)), identity: Self.identity)
    #expect(try read(item, on: phone) == "newer")
    #expect(items(on: phone).first?.attributes == ["acct": Array("alice".utf8), "svce": [2], "labl": [1]])
    phone.deleteItem(item)
    #expect(throws: Phone.KeychainError.itemNotFound) { try read(item, on: phone) }
    #expect(items(on: phone) == [])
  }

  @Test("No update makes two items of one name")
  func collisions() throws {
    try add(to: phone)
    let other = try add("other", to: phone, ["acct": Array("bob".utf8), "svce": Array("login".utf8)])
    #expect(throws: Phone.KeychainError.duplicateItem) {
      try phone.updateItem(other, .init(Self.account, data: []), identity: Self.identity)
    }
    #expect(try read(other, on: phone) == "other")
    try phone.updateItem(other, .init(other.attributes), identity: Self.identity)
    phone.deleteItem(other)
    #expect(throws: Phone.KeychainError.itemNotFound) {
      try phone.updateItem(other, .init(), identity: Self.identity)
    }
  }

  // MARK: Access

  @Test("An update can put an item behind an access control, not behind one that nobody could open")
  func newAccessControl() throws {
    let phone = Phone.owned(enrolled: [])
    let item = try add(to: phone)
    #expect(throws: Phone.KeychainError.notAuthenticated(.biometryNotEnrolled)) {
      try phone.updateItem(item, .init(accessControl: .init(.biometryCurrentSet)), identity: Self.identity)
    }
    #expect(try read(item, on: phone) == "token")
    try phone.updateItem(item, .init(accessControl: .init(.devicePasscode)), identity: Self.identity)
    #expect(phone.demand(of: item, after: []) == .devicePasscode)
    #expect(items(on: phone).first?.accessControl == .init(.devicePasscode))
    #expect(throws: Phone.KeychainError.notAuthenticated(.authenticationFailed)) { try read(item, on: phone) }
    phone.setPasscode(nil)
    #expect(items(on: phone) == [])
  }

  @Test(
    "An item behind an access control opens to who was authenticated for its app",
    arguments: Phone.KeyProtection.allCases)
  func access(protection: Phone.KeyProtection) async throws {
    let phone = Phone.owned(person: .presenting(.thumb, passcode: "2580"))
    let item = try add(to: phone, behind: .init(protection))
    let demand = try #require(phone.demand(of: item, after: []))
    #expect(demand.factors == protection.factors)
    #expect(throws: Phone.KeychainError.notAuthenticated(.authenticationFailed)) { try read(item, on: phone) }

    for application in [Phone.bank, Phone.shop] {
      let request = Phone.EvaluationRequest(demand, application: application, localizedReason: "Read")
      let authentication = try await phone.evaluate(request).get()
      if application == Phone.shop {
        #expect(try phone.data(of: item, after: [authentication]) == Array("token".utf8))
        #expect(phone.demand(of: item, after: [authentication]) == nil)
      } else {
        #expect(throws: Phone.KeychainError.notAuthenticated(.authenticationFailed)) {
          try phone.data(of: item, after: [authentication])
        }
      }
    }
  }

  @Test("Nothing is added that nobody could ever open")
  func unusable() throws {
    #expect(throws: Phone.KeychainError.notAuthenticated(.passcodeNotSet)) {
      try add(to: Phone(), behind: .init(.userPresence))
    }
    #expect(throws: Phone.KeychainError.notAuthenticated(.passcodeNotSet)) {
      try add(to: Phone(), behind: .init(isBoundToPasscode: true))
    }
    #expect(throws: Phone.KeychainError.notAuthenticated(.biometryNotEnrolled)) {
      try add(to: .owned(enrolled: []), behind: .init(.biometryCurrentSet))
    }
  }

  // MARK: Death

  @Test("A change of fingers destroys what is of the current set alone")
  func currentSet() throws {
    for (number, control) in [
      Phone.AccessControl(.biometryCurrentSet), .init([.biometryCurrentSet, .devicePasscode]), .init(.biometryAny),
      .init(),
    ].enumerated() {
      try add(to: phone, ["acct": [UInt8(number)]], behind: control)
    }
    phone.enroll("index")
    phone.remove("index")
    #expect(items(on: phone).map(\.attributes) == [["acct": [1]], ["acct": [2]], ["acct": [3]]])
    #expect(phone.demand(of: items(on: phone)[0], after: []) == .devicePasscode)
  }

  @Test("Without a passcode only what was never bound to one is left")
  func passcodeRemoved() throws {
    for (number, control) in [
      Phone.AccessControl(.userPresence), .init([.biometryAny]), .init(isBoundToPasscode: true), .init(),
    ].enumerated() {
      try add(to: phone, ["acct": [UInt8(number)]], behind: control)
    }
    phone.setPasscode("1379")
    #expect(items(on: phone).count == 4)
    phone.setPasscode(nil)
    #expect(items(on: phone).map(\.attributes) == [["acct": [3]]])
  }

  // MARK: Keys

  @Test("A key's item lives and dies with the key")
  func keys() throws {
    let key = try phone.makeKey(protection: .biometryCurrentSet, application: Phone.shop)
    func store(_ key: Phone.Key) throws(Phone.KeychainError) -> Phone.KeychainItem {
      try phone.addItem("keys", ["atag": [1]], identity: ["atag"], content: .key(key), application: Phone.shop)
    }
    let item = try store(key)
    #expect(item.key == key)
    #expect(item.accessControl == key.accessControl)
    phone.enroll("index")
    #expect(phone.items("keys", matching: [:], application: Phone.shop) == [])
    #expect(throws: Phone.KeychainError.itemNotFound) { try store(key) }

    let another = try phone.makeKey(protection: .biometryAny, application: Phone.shop)
    phone.deleteItem(try store(another))
    #expect(throws: Phone.SigningError.keyNotFound) { try phone.sign([], with: another, presenting: .thumb) }
  }
}
