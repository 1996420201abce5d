// Removed content of the log has a signed account.

public import TouchstoneStore
internal import Testing

extension StoreConformance {
  // R41
  static let signingChecks: [Check] = [
    Check(name: "from the first use of audit keys on each account is signed, at its place alone") { store in
      try await store.commit(.eraseProfile(.sample("before")))
      try await store.signAccounts(with: .sample)
      try await store.commit(events: [.sample("a"), .sample("b"), .sample("of bob", profile: "bob")])
      try await store.commit(.eraseProfile(.alice))
      let events = try await store.events()
      let end = try #require(events.first { $0.sequence == 4 })
      try await store.drop(
        ArchivedEvents(
          start: .genesis, end: EventChain.Head(sequence: end.sequence, hash: end.hash),
          unerasedThrough: try await store.eventChainHead().sequence))

      let kinds = ["profile.erased", "log.signed", nil, nil, "of bob", "profile.erased", "events.archived"]
      let log = events + (try await store.events(afterSequence: 6))
      #expect(log.map { $0.event?.kind } == kinds)
      var verifier = EventChainVerifier(accounts: .strict(AccountKeys.sample.check))
      for event in log { try verifier.verify(event) }
      try verifier.requireAccounts()
      #expect(verifier.accounts.signedCount == 3)
      #expect(verifier.accounts.unsignedCount == 1)
      #expect(verifier.accounts.firstSigned == 2)
    },

    Check(name: "that accounts are signed is said once") { store in
      for _ in 0..<3 { try await store.signAccounts(with: .sample) }
      #expect(try await store.events().map { $0.event?.kind } == ["log.signed"])
    },

    Check(name: "without its audit key a log whose accounts are signed takes no other, and nothing changes") { store in
      try await store.signAccounts(with: .sample)
      try await store.commit(.putProfile(.sample()), events: [.sample("a"), .sample("b"), .sample("c")])
      try await store.signAccounts(with: .none)
      let before = try await store.events()
      await #expect(throws: StoreError.noAuditKey) { try await store.commit(.eraseProfile(.alice)) }
      await #expect(throws: StoreError.noAuditKey) {
        try await store.drop(
          ArchivedEvents(
            start: .genesis, end: EventChain.Head(sequence: 2, hash: before[1].hash), unerasedThrough: 4))
      }
      #expect(try await store.events() == before)
      #expect(try await store.profile().version == 1)
    },
  ]
}

extension AccountKeys {
  /// Not a signature that anybody could not make: bytes that depend on the message.
  public static let sample = AccountKeys { message, _ in
    AccountSignature(keyID: keyID, bytes: bytes(of: message))
  } check: { signature, message in
    guard signature.keyID == keyID else { return .unknownKey }
    return signature.bytes == bytes(of: message) ? .valid : .forged
  }

  static let none = AccountKeys(sign: { _, _ in nil }, check: { _, _ in .unknownKey })

  private static let keyID = String(repeating: "k", count: 43)

  private static func bytes(of message: [UInt8]) -> [UInt8] {
    var bytes = [UInt8](repeating: 7, count: AccountSignature.byteCount)
    for (index, byte) in message.enumerated() { bytes[index % bytes.count] = bytes[index % bytes.count] &* 31 &+ byte }
    return bytes
  }
}
