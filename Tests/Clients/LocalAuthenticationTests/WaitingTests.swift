// The keychain and keys block their callers during a prompt, and at no other time: callers on all threads of a pool do
// not wait for each other.

import Foundation
import LocalAuthentication
import SimulatedPhone
import TestSupport
import Testing

@Suite("Many callers at once")
struct WaitingTests {
  /// A call takes well below a millisecond. Callers that each held a thread until another one answered took a
  /// second each.
  private static let deadline: DispatchTimeInterval = .seconds(20)
  private static let calls = 200

  /// Runs `body` so often at once on the global queue, as apps do.
  private func finishesInTime(_ body: @escaping @Sendable () -> Void) async -> Bool {
    let calls = DispatchGroup()
    for _ in 0..<Self.calls { DispatchQueue.global().async(group: calls, execute: body) }
    return await withCheckedContinuation { continuation in
      // On a thread of its own: the pool's are what is tried.
      Thread.detachNewThread { continuation.resume(returning: calls.wait(timeout: .now() + Self.deadline) == .success) }
    }
  }

  private static var password: [CFString: Any] {
    [kSecClass: kSecClassGenericPassword, kSecAttrService: "login", kSecAttrAccount: "alice"]
  }

  private static func add(_ flags: SecAccessControlCreateFlags) throws {
    let control = try #require(
      SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, flags, nil))
    let item = password.merging([kSecValueData: Data("token".utf8), kSecAttrAccessControl: control]) { $1 }
    #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
  }

  private static func read() -> Data? {
    var data: CFTypeRef?
    let query = password.merging([kSecReturnData: true]) { $1 }
    return SecItemCopyMatching(query as CFDictionary, &data) == errSecSuccess ? data as? Data : nil
  }

  private static func makeKey(_ flags: SecAccessControlCreateFlags) throws {
    let control = try #require(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
    let parameters: [CFString: Any] = [
      kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
      kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs: [kSecAttrAccessControl: control],
    ]
    _ = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
  }

  private static func sign() -> Bool {
    var key: CFTypeRef?
    let query: [CFString: Any] = [kSecClass: kSecClassKey, kSecReturnRef: true]
    guard SecItemCopyMatching(query as CFDictionary, &key) == errSecSuccess, let key = key as? SecKey
    else { return false }
    return SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, Data([1]) as CFData, nil) != nil
  }

  @Test("On the global queue, where nobody is asked and where somebody answers", arguments: [false, true])
  func globalQueue(isAsked: Bool) async throws {
    let app = LASimulation(phone: .withThumb(person: .presenting(.finger("thumb"))))
    try app.run {
      try Self.add(isAsked ? .userPresence : [])
      try Self.makeKey(isAsked ? [.privateKeyUsage, .userPresence] : .privateKeyUsage)
    }
    let areReadInTime = await finishesInTime { app.run { #expect(Self.read() == Data("token".utf8)) } }
    #expect(areReadInTime)
    let areSignedInTime = await finishesInTime { app.run { #expect(Self.sign()) } }
    #expect(areSignedInTime)
  }

  @Test("Apps that wait for a context's reply on all of the pool's threads get it")
  func replies() async {
    let app = LASimulation(phone: .withThumb(person: .presenting(.finger("thumb"))))
    let areAnsweredInTime = await finishesInTime {
      let answered = DispatchSemaphore(value: 0)
      let context = app.run { LAContext() }
      context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "Log in") { success, _ in
        #expect(success)
        answered.signal()
      }
      answered.wait()
    }
    #expect(areAnsweredInTime)
  }

  @Test("In tasks", .mustEnd, arguments: [false, true])
  func tasks(isAsked: Bool) async throws {
    let app = LASimulation(phone: .withThumb(person: .presenting(.finger("thumb"))))
    try await app.run {
      try Self.add(isAsked ? .userPresence : [])
      try Self.makeKey(isAsked ? [.privateKeyUsage, .userPresence] : .privateKeyUsage)
      let succeeded = await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<Self.calls { group.addTask { Self.read() == Data("token".utf8) && Self.sign() } }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(succeeded == Self.calls)
    }
  }

  @Test("Where nobody answers, a later prompt ends the one before, and the last is answered by who acts on it")
  func prompts() async throws {
    let phone = SimulatedPhone.withThumb()
    let app = LASimulation(phone: phone)
    try app.run { try Self.add(.userPresence) }
    let answers = AsyncStream<Bool>.makeStream()
    let calls = 8
    for _ in 0..<calls {
      DispatchQueue.global().async { app.run { _ = answers.continuation.yield(Self.read() != nil) } }
    }
    var answered = answers.stream.makeAsyncIterator()
    for _ in 1..<calls { #expect(await answered.next() == false) }
    phone.touch("thumb")
    #expect(await answered.next() == true)
  }

  @Test("A context that is invalidated releases who waits for its prompt")
  func invalidation() async throws {
    let phone = SimulatedPhone.withThumb()
    try LASimulation(phone: phone).run { try Self.add(.userPresence) }
    let context = SharedContext(LASimulation(phone: phone).run { LAContext() })
    let status = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let query = Self.password.merging([kSecReturnData: true, kSecUseAuthenticationContext: context.value]) { $1 }
        continuation.resume(returning: SecItemCopyMatching(query as CFDictionary, nil))
      }
      Task {
        var screen = phone.prompts.makeAsyncIterator()
        _ = await screen.next()
        context.value.invalidate()
      }
    }
    #expect(status == errSecUserCanceled)
  }
}

// @unchecked: all state of a context is behind a lock.
private struct SharedContext: @unchecked Sendable {
  let value: LAContext

  init(_ value: LAContext) {
    self.value = value
  }
}
