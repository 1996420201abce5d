// The attacks of an attacker who can write all of the database, and has no audit key (R41).

internal import Encodings
internal import Synchronization
public import Testing
public import TouchstoneStore

/// A store's database, as an attacker has it: beside the store, by SQL that every store's database understands.
public final class AttackedLog: Sendable {
  let execute: @Sendable (String) async throws -> Void
  /// As a value in SQL.
  let literal: @Sendable ([UInt8]) -> String
  let verify: @Sendable (AccountReview) async throws -> AuditLogVerification
  private let open: @Sendable () async throws -> any Store
  private let current: Mutex<any Store>

  public init(
    open: @escaping @Sendable () async throws -> any Store, execute: @escaping @Sendable (String) async throws -> Void,
    literal: @escaping @Sendable ([UInt8]) -> String,
    verify: @escaping @Sendable (AccountReview) async throws -> AuditLogVerification
  ) async throws {
    (self.open, self.execute, self.literal, self.verify) = (open, execute, literal, verify)
    current = Mutex(try await open())
  }

  public var store: any Store { current.withLock { $0 } }

  /// Closes the store, and opens it again.
  public func restart() async throws {
    await store.close()
    let opened = try await open()
    current.withLock { $0 = opened }
  }
}

public struct AuditAttack: Sendable, CustomTestStringConvertible {
  public let testDescription: String
  private let run: @Sendable (AttackedLog) async throws -> Void

  private init(_ description: String, _ run: @escaping @Sendable (AttackedLog) async throws -> Void) {
    testDescription = description
    self.run = run
  }

  /// On a log of four events: accounts are signed; two of victim's; one of mallory's, which he may erase. Closes the
  /// log.
  public func callAsFunction(on log: AttackedLog) async throws {
    do {
      try await log.store.signAccounts(with: .sample)
      for (kind, profile) in [("login", "victim"), ("payment", "victim"), ("login", "mallory")] {
        try await log.store.commit(events: [.sample(kind, profile: profile)])
      }
      // All are sealed.
      #expect(try await log.store.events().count == 4)
      try await run(log)
    } catch {
      await log.store.close()
      throw error
    }
    await log.store.close()
  }

  public static let all = [
    AuditAttack("nothing") { log in
      try await log.erase("mallory")
      #expect(try await log.fault() == nil)
      #expect(try await log.fault(.event(1)) == nil)
    },

    AuditAttack("a victim's event made another profile's, that profile erased, and all put back") { log in
      try await log.execute("UPDATE events SET profile_id = 'mallory' WHERE sequence = 3")
      try await log.erase("mallory")
      try await log.execute("UPDATE events SET profile_id = 'victim' WHERE sequence = 3")
      let events = try await log.store.events()
      #expect(events.map(\.isErased) == [false, false, false, true, false, false])
      #expect(events[4].event?.details.first { $0.key == "erased_sequences" }?.value == "4")
      #expect(events[5].event?.kind == "log.broken")
      #expect(events[5].event?.details.contains(EventDetail(key: "sequence", value: "3")) == true)
      #expect(try await log.fault() == nil)
    },

    AuditAttack("the same, and its hash made to fit, also the hash before it") { log in
      let events = try await log.store.events()
      let (record, previous) = (events[2], events[1])
      guard case .whole(var event, let salt) = record.content else { return }
      event.profileID = "mallory"
      for hash in [previous.hash, [UInt8](repeating: 7, count: 32)] {
        var chain = EventChain(continuing: EventChain.Head(sequence: 2, hash: hash))
        let forged = chain.append(event, salt: salt)
        try await log.set(hash, of: 2)
        try await log.execute("UPDATE events SET profile_id = 'mallory' WHERE sequence = 3")
        try await log.set(forged.hash, of: 3)
      }
      try await log.erase("mallory")
      #expect(try await log.store.events()[2].isErased)
      try await log.set(previous.hash, of: 2)
      try await log.set(record.hash, of: 3)
      try await log.execute("UPDATE events SET digest = \(log.literal(record.content.digest)) WHERE sequence = 3")
      // The chain fits, and so do the signatures: the account names the digest of the erased content.
      #expect(try await log.fault() == .substituted(sequence: 3))
    },

    AuditAttack("an unsigned account") { log in
      try await log.blank(3)
      try await log.appendAccount(of: [3])
      #expect(try await log.fault() == .unsigned(sequence: 5))
    },

    AuditAttack("a genuine account again") { log in
      try await log.erase("mallory")
      let genuine = try #require(try await log.store.events()[4].event)
      try await log.blank(3)
      try await log.store.commit(events: [genuine])
      #expect(try await log.fault() == .forged(sequence: 6))
    },

    AuditAttack("an account without digests, with a genuine signature") { log in
      try await log.erase("mallory")
      var account = try #require(try await log.store.events()[4].event)
      account.details.removeAll { $0.key == "erased_digests" }
      account.details = account.details.map {
        $0.key == "erased_sequences" ? EventDetail(key: $0.key, value: "3") : $0
      }
      try await log.blank(3)
      try await log.store.commit(events: [account])
      #expect(try await log.fault() != nil)
    },

    AuditAttack("the event that says that accounts are signed, too, and another start") { log in
      for sequence in [1, 3] as [UInt64] { try await log.blank(sequence) }
      try await log.appendAccount(of: [1, 3])
      try await log.restart()
      #expect(try await log.store.signAccounts(with: .sample) == 6)
      #expect(try await log.fault() == .unsigned(sequence: 5))
      #expect(try await log.fault(.event(1)) == .unsignedBeginning(sequence: 1))
      // The service cannot detect it; the verification does not confirm the log to an auditor who noted nothing.
      #expect(try await log.fault(.firstSignature) == nil)
    },

    AuditAttack("a beginning dropped by a forged archiving") { log in
      let second = try await log.store.events()[1]
      try await log.store.commit(events: [
        EventDraft(
          time: Sample.now, kind: "events.archived", applicationID: "", caller: "operator",
          details: [
            EventDetail(key: "last_sequence", value: "2"),
            EventDetail(key: "last_hash", value: Hexadecimal.text(second.hash)),
          ])
      ])
      #expect(try await log.store.events().count == 5)
      try await log.execute("UPDATE event_archive SET sequence = 2, hash = \(log.literal(second.hash))")
      try await log.execute("DELETE FROM events WHERE sequence <= 2")
      #expect(try await log.fault() == .unsigned(sequence: 5))
      #expect(try await log.fault(.event(1)) == .unsigned(sequence: 5))
    },

    AuditAttack("a genuine archiving moved further") { log in
      let events = try await log.store.events()
      try await log.store.drop(
        ArchivedEvents(
          start: .genesis, end: EventChain.Head(sequence: 2, hash: events[1].hash), unerasedThrough: 4))
      try await log.execute("UPDATE event_archive SET sequence = 3, hash = \(log.literal(events[2].hash))")
      try await log.execute("DELETE FROM events WHERE sequence <= 3")
      #expect(try await log.fault() == .dropped(through: 3))
    },

    AuditAttack("an end cut off together with its account") { log in
      try await log.erase("mallory")
      let noted = try await log.store.eventChainHead()
      let fourth = try await log.store.events()[3]
      try await log.execute("DELETE FROM events WHERE sequence = 5")
      try await log.execute("UPDATE event_chain SET sequence = 4, hash = \(log.literal(fourth.hash))")
      #expect(try await log.fault() == .removed(sequence: 4))
      // An end without an account is missed by a noted head alone.
      #expect(try await log.verify(.strict(AccountKeys.sample.check)).head != noted)
    },

    AuditAttack("erased events that changed places") { log in
      try await log.erase("victim")
      let events = try await log.store.events()
      for (place, other) in [(2, 3), (3, 2)] {
        try await log.execute(
          "UPDATE events SET digest = \(log.literal(events[other - 1].content.digest)) WHERE sequence = \(place)")
      }
      #expect(try await log.fault() == .altered(sequence: 2))
    },

    AuditAttack("an account blanked, and accounted for by another one") { log in
      try await log.erase("mallory")
      try await log.blank(5)
      try await log.appendAccount(of: [4, 5])
      #expect(try await log.fault() == .unsigned(sequence: 6))
    },
  ]
}

extension AttackedLog {
  /// An erasure through the service, which any caller that may erase one profile can request.
  fileprivate func erase(_ profile: String) async throws {
    try await store.commit(.eraseProfile(.sample(profile)))
  }

  /// The fault that a verification by the keys finds.
  fileprivate func fault(
    _ signedFrom: AccountReview.SignedFrom = .beginning
  ) async throws -> EventChainVerifier.Fault? {
    // Sealed first.
    _ = try await store.events()
    return try await verify(.strict(AccountKeys.sample.check, signedFrom: signedFrom)).fault
  }

  fileprivate func blank(_ sequence: UInt64) async throws {
    let digest = try await store.events()[Int(sequence) - 1].content.digest
    try await execute(
      """
      UPDATE events SET digest = \(literal(digest)), salt = NULL, time = NULL, kind = NULL, application_id = NULL,
        profile_id = NULL, device_id = NULL, binding_id = NULL, caller = NULL, details = NULL WHERE sequence = \(sequence)
      """)
  }

  fileprivate func set(_ hash: [UInt8], of sequence: UInt64) async throws {
    try await execute("UPDATE events SET hash = \(literal(hash)) WHERE sequence = \(sequence)")
  }

  fileprivate func appendAccount(of sequences: [UInt64]) async throws {
    let erased = try await store.events().filter { sequences.contains($0.sequence) }.map {
      ErasedEvent(sequence: $0.sequence, digest: $0.content.digest)
    }
    try await store.commit(events: ProfileErasure.sample("nobody").accounts(ofErased: erased))
    // It is sealed.
    _ = try await store.events()
  }
}
