// The keychain and keys by Apple's functions, as an app calls them.

import LocalAuthentication
import SimulatedPhone
import Testing

@Suite("Keychain and keys")
struct KeychainTests {
  private static let tag = Data("com.example.app.login".utf8)

  private static var password: [String: Any] {
    [
      kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "login",
      kSecAttrAccount as String: "alice",
    ]
  }

  private func access(
    _ flags: SecAccessControlCreateFlags, _ accessible: CFString = kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
  ) throws -> SecAccessControl {
    try #require(SecAccessControlCreateWithFlags(kCFAllocatorDefault, accessible, flags, nil))
  }

  private func run(on phone: SimulatedPhone, _ body: () throws -> Void) throws {
    try LASimulation(phone: phone).run(body)
  }

  /// Another name for a query with more in it.
  private func query(_ base: [String: Any], _ more: [CFString: Any]) -> CFDictionary {
    base.merging(more.map { ($0.key as String, $0.value) }) { $1 } as CFDictionary
  }

  private func read(_ more: [CFString: Any] = [:]) -> (OSStatus, String?) {
    var item: CFTypeRef?
    let status = SecItemCopyMatching(query(Self.password, more.merging([kSecReturnData: true]) { $1 }), &item)
    return (status, (item as? Data).map { String(decoding: $0, as: UTF8.self) })
  }

  // MARK: Passwords

  @Test("Add, read, update, delete")
  func password() throws {
    try run(on: .withThumb()) {
      #expect(read() == (errSecItemNotFound, nil))
      let item = query(Self.password, [kSecValueData: Data("one".utf8)])
      #expect(SecItemAdd(item, nil) == errSecSuccess)
      #expect(SecItemAdd(item, nil) == errSecDuplicateItem)
      let labelled = query(Self.password, [kSecValueData: Data("one".utf8), kSecAttrLabel: "another label"])
      #expect(SecItemAdd(labelled, nil) == errSecDuplicateItem)
      #expect(read() == (errSecSuccess, "one"))
      let change: [String: Any] = [kSecValueData as String: Data("two".utf8), kSecAttrLabel as String: "Login"]
      #expect(SecItemUpdate(Self.password as CFDictionary, change as CFDictionary) == errSecSuccess)
      #expect(read() == (errSecSuccess, "two"))
      #expect(read([kSecAttrLabel: "Login"]) == (errSecSuccess, "two"))
      #expect(SecItemDelete(Self.password as CFDictionary) == errSecSuccess)
      #expect(SecItemDelete(Self.password as CFDictionary) == errSecItemNotFound)
    }
  }

  @Test("All items, with their attributes")
  func attributes() throws {
    try run(on: .withThumb()) {
      for (account, port) in [("alice", 443), ("bob", 8443)] {
        let item: [CFString: Any] = [
          kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com", kSecAttrAccount: account,
          kSecAttrPort: port, kSecAttrGeneric: Data(account.utf8), kSecValueData: Data("secret".utf8),
        ]
        #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
      }
      var result: AnyObject?
      let all: NSDictionary = [
        kSecClass: kSecClassInternetPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
        kSecReturnData: kCFBooleanTrue as Any,
      ]
      #expect(SecItemCopyMatching(all, &result) == errSecSuccess)
      let items = try #require(result as? [[String: Any]])
      #expect(items.map { $0[kSecAttrAccount as String] as? String } == ["alice", "bob"])
      #expect(items.map { $0[kSecAttrPort as String] as? Int } == [443, 8443])
      #expect(items.map { $0[kSecAttrGeneric as String] as? Data } == [Data("alice".utf8), Data("bob".utf8)])
      #expect(items.map { $0[kSecValueData as String] as? Data } == [Data("secret".utf8), Data("secret".utf8)])
      #expect(
        items.allSatisfy { $0[kSecAttrAccessible as String] as? String == kSecAttrAccessibleWhenUnlocked as String })
    }
  }

  @Test("What is no query is refused")
  func refused() throws {
    try run(on: .withThumb()) {
      for query in [[:], [kSecClass as String: "letter"]] as [[String: Any]] {
        #expect(SecItemAdd(query as CFDictionary, nil) == errSecParam)
        #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecParam)
        #expect(SecItemUpdate(query as CFDictionary, [:]) == errSecParam)
        #expect(SecItemDelete(query as CFDictionary) == errSecParam)
      }
    }
  }

  // MARK: Behind an access control

  private func addProtected(_ flags: SecAccessControlCreateFlags) -> OSStatus {
    guard let control = try? access(flags) else { return errSecParam }
    return SecItemAdd(
      query(Self.password, [kSecValueData: Data("token".utf8), kSecAttrAccessControl: control]), nil)
  }

  @Test(
    "The keychain asks the person, and says what came of it",
    arguments: [
      (SimulatedPhone.Person.presenting(.finger("thumb")), errSecSuccess),
      (.presenting(.finger("stranger's")), errSecAuthFailed),
      (.init(habitAtSensor: .tapCancel), errSecUserCanceled),
      (.init(habitAtSensor: .takeCall), errSecUserCanceled),
    ])
  func asking(person: SimulatedPhone.Person, status: OSStatus) throws {
    try run(on: .withThumb(person: person)) {
      #expect(addProtected(.biometryCurrentSet) == errSecSuccess)
      #expect(read() == (status, status == errSecSuccess ? "token" : nil))
    }
  }

  @Test("A context that was evaluated opens the item without another prompt, and only for its own app")
  func context() async throws {
    let phone = SimulatedPhone.withThumb(person: .init(script: [.present(.finger("thumb"))]))
    let app = LASimulation(phone: phone)
    try run(on: phone) { #expect(addProtected(.userPresence) == errSecSuccess) }
    let context = app.run { LAContext() }
    try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "Read")
    #expect(read([kSecUseAuthenticationContext: context]) == (errSecSuccess, "token"))
    #expect(phone.prompt == nil)

    let another = LASimulation(phone: phone, application: "com.example.other").run { LAContext() }
    #expect(read([kSecUseAuthenticationContext: another]) == (errSecItemNotFound, nil))
    context.invalidate()
    #expect(read([kSecUseAuthenticationContext: context]) == (errSecAuthFailed, nil))
  }

  @Test("Where a prompt is forbidden, the item stays closed and its attributes open")
  func interaction() throws {
    try run(on: .withThumb(person: .presenting(.finger("thumb")))) {
      #expect(addProtected(.biometryAny) == errSecSuccess)
      #expect(read([kSecUseAuthenticationUI: kSecUseAuthenticationUIFail]) == (errSecInteractionNotAllowed, nil))
      #expect(read([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip]) == (errSecItemNotFound, nil))
      let context = LAContext()
      context.interactionNotAllowed = true
      #expect(read([kSecUseAuthenticationContext: context]) == (errSecInteractionNotAllowed, nil))
      #expect(SecItemCopyMatching(query(Self.password, [kSecReturnAttributes: true]), nil) == errSecSuccess)
      let change = [kSecValueData as String: Data("new".utf8)]
      let silent = query(Self.password, [kSecUseAuthenticationContext: context])
      #expect(SecItemUpdate(silent, change as CFDictionary) == errSecInteractionNotAllowed)
    }
  }

  @Test("The prompt shows the context's reason, or the query's")
  func reason() async throws {
    let phone = SimulatedPhone.withThumb()
    try run(on: phone) { #expect(addProtected(.biometryAny) == errSecSuccess) }
    for isOfQuery in [false, true] {
      let status = await withCheckedContinuation { continuation in
        // The keychain blocks its caller while the person is asked; a task's thread must not be.
        DispatchQueue.global().async {
          let status = LASimulation(phone: phone).run {
            if isOfQuery { return self.read([kSecUseOperationPrompt: "Read it"]).0 }
            let context = LAContext()
            context.localizedReason = "Read it"
            return self.read([kSecUseAuthenticationContext: context]).0
          }
          continuation.resume(returning: status)
        }
        Task {
          var screen = phone.prompts.makeAsyncIterator()
          #expect(await screen.next()?.localizedReason == "Read it")
          phone.touch("thumb")
        }
      }
      #expect(status == errSecSuccess)
    }
  }

  @Test("A new finger destroys what is of the current set, and removing the passcode what is behind any control")
  func death() throws {
    let phone = SimulatedPhone.withThumb(person: .presenting(.finger("thumb")))
    let controls: [(SecAccessControlCreateFlags, isKept: Bool)] = [
      (.biometryCurrentSet, false), ([.biometryCurrentSet, .or, .devicePasscode], true), (.biometryAny, true),
    ]
    try run(on: phone) {
      for (flags, isKept) in controls {
        #expect(addProtected(flags) == errSecSuccess)
        phone.enroll("index")
        phone.remove("index")
        #expect(SecItemDelete(Self.password as CFDictionary) == (isKept ? errSecSuccess : errSecItemNotFound))
      }
      #expect(addProtected(.userPresence) == errSecSuccess)
      phone.setPasscode("1379")
      #expect(read() == (errSecSuccess, "token"))
      phone.setPasscode(nil)
      #expect(read() == (errSecItemNotFound, nil))
      #expect(addProtected(.userPresence) == errSecAuthFailed)
      #expect(SecItemAdd(query(Self.password, [kSecValueData: Data("one".utf8)]), nil) == errSecSuccess)
      phone.setPasscode("2580")
      phone.setPasscode(nil)
      #expect(read() == (errSecSuccess, "one"))
    }
  }

  @Test(
    "What a flag asks, the person is asked; all of several, unless .or says that one is enough",
    arguments: [true, false])
  func combinations(isAnd: Bool) async throws {
    let phone = SimulatedPhone.withThumb(person: .presenting(.finger("stranger's"), passcode: "2580"))
    let app = LASimulation(phone: phone)
    let control = try access([.biometryAny, isAnd ? .and : .or, .devicePasscode])
    let context = app.run { LAContext() }
    let error = await evaluate(control, in: context)
    #expect(error?.code == (isAnd ? .authenticationFailed : nil))
    if isAnd {
      phone.setPerson(.presenting(.finger("thumb"), passcode: "2580"))
      #expect(await evaluate(control, in: context) == nil)
    }
  }

  private func evaluate(
    _ control: SecAccessControl, for operation: LAAccessControlOperation = .useItem, in context: LAContext
  ) async -> LAError? {
    await withCheckedContinuation { continuation in
      context.evaluateAccessControl(control, operation: operation, localizedReason: "Open") { success, error in
        #expect(success == (error == nil))
        continuation.resume(returning: error as? LAError)
      }
    }
  }

  @Test("Access controls that cannot be are refused")
  func badControls() throws {
    let bad: [(SecAccessControlCreateFlags, OSStatus)] = [
      ([.biometryAny, .biometryCurrentSet], errSecParam), ([.biometryAny, .or, .and, .devicePasscode], errSecParam),
      ([.userPresence, .or, .biometryAny], errSecParam), ([.userPresence, .devicePasscode], errSecParam),
      (.companion, errSecUnimplemented), ([.biometryAny, .and, .companion], errSecUnimplemented),
      (.applicationPassword, errSecUnimplemented),
    ]
    for (flags, status) in bad {
      var error: Unmanaged<CFError>?
      #expect(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, &error) == nil)
      #expect(error?.takeRetainedValue().code == Int(status))
    }
    _ = try access([.biometryAny, .or, .companion])
    #expect(try access([.biometryAny, .devicePasscode]) == access([.biometryAny, .and, .devicePasscode]))
    #expect(try access([.biometryAny, .devicePasscode]) != access([.biometryAny, .or, .devicePasscode]))
  }

  @Test("evaluateAccessControl asks for use alone, and not of an invalidated context")
  func evaluation() async throws {
    let control = try access(.biometryAny)
    let context = LASimulation(phone: .withThumb(person: .init(habitAtSensor: .tapCancel))).run { LAContext() }
    #expect(await evaluate(control, for: .createKey, in: context) == nil)
    #expect(await evaluate(control, for: .useKeySign, in: context)?.code == .userCancel)
    context.invalidate()
    #expect(await evaluate(control, for: .createKey, in: context)?.code == .invalidContext)
    await #expect(throws: LAError.self) {
      try await context.evaluateAccessControl(control, operation: .useItem, localizedReason: "Open")
    }
  }

  // MARK: Keys

  private func makeKey(
    _ flags: SecAccessControlCreateFlags = [.privateKeyUsage, .biometryCurrentSet], permanent: Bool = true,
    context: LAContext? = nil, isContextOutside: Bool = false
  ) throws -> SecKey {
    var privateHalf: [String: Any] = [
      kSecAttrIsPermanent as String: permanent, kSecAttrApplicationTag as String: Self.tag,
      kSecAttrAccessControl as String: try access(flags),
    ]
    if let context, !isContextOutside { privateHalf[kSecUseAuthenticationContext as String] = context }
    var attributes: [String: Any] = [
      kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits as String: 256,
      kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs as String: privateHalf,
    ]
    if let context, isContextOutside { attributes[kSecUseAuthenticationContext as String] = context }
    var error: Unmanaged<CFError>?
    guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
      throw error!.takeRetainedValue() as any Error
    }
    return key
  }

  private func findKey(_ more: [CFString: Any] = [:]) -> SecKey? {
    var item: CFTypeRef?
    let key: [String: Any] = [
      kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: Self.tag, kSecReturnRef as String: true,
      kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
    ]
    guard SecItemCopyMatching(query(key, more), &item) == errSecSuccess, let item,
      CFGetTypeID(item) == SecKeyGetTypeID()
    else { return nil }
    return (item as! SecKey)
  }

  @Test("Code that looks for certificates and identities compiles, and finds none")
  func certificates() throws {
    try run(on: .withThumb(person: .absent)) {
      for itemClass in [kSecClassCertificate, kSecClassIdentity] {
        let query: [CFString: Any] = [kSecClass: itemClass, kSecReturnRef: true]
        var item: CFTypeRef?
        #expect(SecItemCopyMatching(query as CFDictionary, &item) == errSecItemNotFound)
        #expect(item as? SecCertificate == nil && item as? SecIdentity == nil)
      }
      let key: CFTypeRef = try makeKey()
      #expect(![SecCertificateGetTypeID(), SecIdentityGetTypeID()].contains(CFGetTypeID(key)))
    }
  }

  private func sign(_ message: Data, with key: SecKey) throws -> Data {
    var error: Unmanaged<CFError>?
    guard
      let signature = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message as CFData, &error) as Data?
    else { throw error!.takeRetainedValue() as any Error }
    return signature
  }

  @Test("A key signs for the person, and its public half verifies")
  func signing() throws {
    try run(on: .withThumb(person: .presenting(.finger("thumb")))) {
      let key = try makeKey()
      let publicKey = try #require(SecKeyCopyPublicKey(key))
      let message = Data("challenge".utf8)
      let signature = try sign(message, with: key)
      func isValid(_ message: Data) -> Bool {
        SecKeyVerifySignature(
          publicKey, .ecdsaSignatureMessageX962SHA256, message as CFData, signature as CFData, nil)
      }
      #expect(isValid(message))
      #expect(!isValid(Data("another".utf8)))

      let exported = try #require(SecKeyCopyExternalRepresentation(publicKey, nil) as Data?)
      #expect(exported.count == 65 && exported.first == 4)
      let attributes: [CFString: Any] = [
        kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic,
      ]
      let imported = try #require(SecKeyCreateWithData(exported as CFData, attributes as CFDictionary, nil))
      #expect(
        SecKeyVerifySignature(
          imported, .ecdsaSignatureMessageX962SHA256, message as CFData, signature as CFData, nil))
      #expect(SecKeyCopyExternalRepresentation(key, nil) == nil)
    }
  }

  @Test("What a key can, and cannot")
  func algorithms() throws {
    try run(on: .withThumb()) {
      let key = try makeKey()
      let publicKey = try #require(SecKeyCopyPublicKey(key))
      #expect(SecKeyIsAlgorithmSupported(key, .sign, .ecdsaSignatureMessageX962SHA256))
      #expect(!SecKeyIsAlgorithmSupported(key, .verify, .ecdsaSignatureMessageX962SHA256))
      #expect(SecKeyIsAlgorithmSupported(publicKey, .verify, .ecdsaSignatureMessageX962SHA256))
      #expect(!SecKeyIsAlgorithmSupported(publicKey, .encrypt, .rsaEncryptionOAEPSHA256))
      var error: Unmanaged<CFError>?
      #expect(SecKeyCreateSignature(publicKey, .ecdsaSignatureMessageX962SHA256, Data() as CFData, &error) == nil)
      #expect(error?.takeRetainedValue().code == Int(errSecParam))
      let rsa: [CFString: Any] = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048]
      #expect(SecKeyCreateRandomKey(rsa as CFDictionary, nil) == nil)
    }
  }

  @Test("A permanent key is found by its tag, others are not")
  func permanence() throws {
    try run(on: .withThumb(person: .presenting(.finger("thumb")))) {
      _ = try makeKey(permanent: false)
      #expect(findKey() == nil)
      let key = try makeKey()
      let found = try #require(findKey())
      let message = Data("challenge".utf8)
      let signature = try sign(message, with: found)
      #expect(
        SecKeyVerifySignature(
          try #require(SecKeyCopyPublicKey(key)), .ecdsaSignatureMessageX962SHA256, message as CFData,
          signature as CFData, nil))
      let query: [CFString: Any] = [kSecClass: kSecClassKey, kSecAttrApplicationTag: Self.tag]
      #expect(SecItemDelete(query as CFDictionary) == errSecSuccess)
      #expect(findKey() == nil)
      #expect(throws: (any Error).self) { try sign(message, with: key) }
    }
  }

  @Test("A key stored by reference is found again")
  func storedByReference() throws {
    try run(on: .withThumb()) {
      let key = try makeKey(permanent: false)
      let item: [CFString: Any] = [kSecClass: kSecClassKey, kSecAttrApplicationTag: Self.tag, kSecValueRef: key]
      #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
      #expect(findKey() != nil)
    }
  }

  @Test(
    "Who does not prove to be present gets an LAError",
    arguments: [
      (SimulatedPhone.Person.presenting(.finger("stranger's")), LAError.Code.authenticationFailed),
      (.init(habitAtSensor: .tapCancel), .userCancel), (.init(habitAtSensor: .pressHome), .systemCancel),
    ])
  func refusal(person: SimulatedPhone.Person, code: LAError.Code) throws {
    try run(on: .withThumb(person: person)) {
      let key = try makeKey()
      #expect { try sign(Data("challenge".utf8), with: key) } throws: { ($0 as? LAError)?.code == code }
    }
  }

  @Test("A key of an evaluated context signs without another prompt")
  func contextOfKey() async throws {
    let phone = SimulatedPhone.withThumb(person: .init(script: [.present(.finger("thumb"))]))
    let app = LASimulation(phone: phone)
    let context = app.run { LAContext() }
    try app.run { _ = try makeKey() }
    try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "Sign")
    let key = try #require(findKey([kSecUseAuthenticationContext: context]))
    for _ in 0..<3 { _ = try sign(Data("challenge".utf8), with: key) }
    context.invalidate()
    #expect { try sign(Data("challenge".utf8), with: key) } throws: { ($0 as? LAError)?.code == .invalidContext }
  }

  @Test("A key made with a context signs by what the context proved, wherever it stands", arguments: [false, true])
  func contextOfNewKey(isContextOutside: Bool) async throws {
    let phone = SimulatedPhone.withThumb(
      person: .init(script: [.present(.finger("thumb"))], habitAtSensor: .tapCancel))
    let app = LASimulation(phone: phone)
    let context = app.run { LAContext() }
    try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "Make a key")
    let key = try makeKey(context: context, isContextOutside: isContextOutside)
    _ = try sign(Data("challenge".utf8), with: key)
    // One without a context asks anew.
    let another = try app.run { try makeKey(permanent: false) }
    #expect { try sign(Data("challenge".utf8), with: another) } throws: { ($0 as? LAError)?.code == .userCancel }
  }

  @Test("Random bytes")
  func random() {
    var bytes = [UInt8](repeating: 0, count: 32)
    #expect(SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes) == errSecSuccess)
    #expect(Set(bytes).count > 1)
  }
}
