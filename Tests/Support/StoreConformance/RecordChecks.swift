// A read returns what was put: every field, every size, byte for byte.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let recordChecks: [Check] = [
    Check(name: "a binding is stored with all its fields and the next version") { store in
      let full = BindingRecord.sample("full", lastUsedAt: Sample.now + .seconds(5))
      let bare = BindingRecord.sample("bare", credential: .profileTouchID(digest: [UInt8](repeating: 9, count: 32)))
        .with {
          $0.baseline = nil; $0.platformFamily = nil; $0.deviceName = ""
        }
      try await store.commit(.putBinding(full), .putBinding(bare))
      for binding in [full, bare] {
        #expect(try await store.attemptRecords(bindingID: binding.bindingID).binding == binding.stored)
      }
      #expect(try await store.bindings() == [bare.stored, full.stored])
    },

    Check(name: "a binding keeps each of its keys") { store in
      let keys = KeyProtection.allCases.map {
        HardwareKeyRecord(publicKey: [4] + [UInt8](repeating: $0.rawValue, count: 64), protection: $0)
      }
      let binding = BindingRecord.sample("b-1", credential: .hardwareKeys(keys))
      try await store.commit(.putBinding(binding))
      #expect(try await store.bindings() == [binding.stored])
    },

    Check(name: "R42: a binding keeps what was proven of each key") { store in
      let proven = KeyAttestationRecord(
        level: .strongbox, isOfListedApp: true,
        facts: [.init(name: "package", value: "com.example.“shop”"), .init(name: "", value: "")])
      let keys = [
        HardwareKeyRecord.sample.with { $0.attestation = proven },
        HardwareKeyRecord.sample.with { $0.protection = .devicePasscode },
        HardwareKeyRecord.sample.with {
          $0.attestation = KeyAttestationRecord(level: .tee, facts: [])
          $0.mlDSA65PublicKey = [UInt8](repeating: 7, count: 1_952)
        },
        HardwareKeyRecord.sample.with { $0.mlDSA65PublicKey = [1, 2, 3] },
        HardwareKeyRecord(
          .rsa, publicKey: [UInt8](repeating: 5, count: 550), protection: .biometryAny, attestation: proven),
        HardwareKeyRecord(.rsa, publicKey: [1, 2, 3], protection: .userPresence),
      ]
      let binding = BindingRecord.sample("b-1", credential: .hardwareKeys(keys))
      try await store.commit(.putBinding(binding))
      #expect(try await store.bindings() == [binding.stored])
    },

    Check(name: "R46: a passkey is kept, and found by its digest while it is active") { store in
      let proven = KeyAttestationRecord(level: .tee, facts: [.init(name: "format", value: "apple")])
      let passkeys = [
        PasskeyRecord.sample(1), .sample(2).with { $0.attestation = proven },
        .sample(3).with { ($0.transports, $0.isBackupEligible, $0.algorithm) = ([], true, -257) },
        .sample(4).with { ($0.isBackupEligible, $0.isBackedUp) = (true, true) },
      ]
      for (number, passkey) in passkeys.enumerated() {
        let binding = BindingRecord.sample("b-\(number)", credential: .passkey(passkey)).with { $0.proofCounter = .max }
        let subject = AttemptSubject.profileTouchID(applicationID: Sample.application, digest: passkey.digest)
        try await store.commit(.putBinding(binding))
        #expect(try await store.attemptRecords(for: subject).binding == binding.stored)
        try await store.commit(.putBinding(binding.stored.revoked()))
        #expect(try await store.attemptRecords(for: subject).binding == nil)
      }
      try await store.commit(.putBinding(.sample("b-8", credential: .passkey(passkeys[0]))))
      try await expectRefused(.putBinding(.sample("b-9", credential: .passkey(passkeys[0]))), by: store)
    },

    Check(name: "a device that was never seen has version 0") { store async throws in
      #expect(try await store.device(id: "phone-1") == DeviceRecord(deviceID: "phone-1"))
    },

    Check(name: "a device's standing is stored, up to its largest count") { store in
      // Once as the first of its key, once in place of another.
      for (version, failures) in [(0, 2), (1, UInt32.max)] as [(RecordVersion, UInt32)] {
        var device = DeviceRecord.sample("phone-1", failures: failures, version: version)
        device.lockCount = 7 + version
        try await store.commit(.putDevice(device))
        device.version += 1
        #expect(try await store.device(id: "phone-1") == device)
      }
    },

    Check(name: "an attempt's records come with the binding's device and the evaluation") { store in
      let key = ExpiringKey.sample()
      let evaluation = EvaluationRecord(key: key, standing: EvaluationStanding(failures: 2, isFinished: true))
      #expect(try await store.attemptRecords(bindingID: "b-1", evaluation: key).evaluation == nil)
      try await store.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 2)),
        .putEvaluation(evaluation))
      let records = try await store.attemptRecords(bindingID: "b-1", evaluation: key)
      #expect(records.binding?.deviceID == "phone-1")
      #expect(records.device == .sample("phone-1", failures: 2, version: 1))
      #expect(records.evaluation == EvaluationRecord(key: key, standing: evaluation.standing, version: 1))
      #expect(try await store.attemptRecords(bindingID: "b-1").evaluation == nil)
    },

    Check(name: "what is at hand of a binding is what is read") { store in
      try await store.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 2)))
      for (bindingID, applicationID) in [("b-1", Sample.application), ("nobody", Sample.application), ("b-1", "other")]
      {
        // Twice: the first read may come from the disk and the second from memory.
        for _ in 0..<2 {
          guard
            let records = try store.attemptRecordsAtHand(
              ofBinding: bindingID, applicationID: applicationID, vendor: .everybody)
          else { continue }
          #expect(
            try await store.attemptRecords(for: .binding(applicationID: applicationID, bindingID: bindingID)) == records
          )
        }
      }
      try await store.commit(.putDevice(.sample("phone-1", failures: 3, version: 1)))
      if let records = try store.attemptRecordsAtHand(
        ofBinding: "b-1", applicationID: Sample.application, vendor: .everybody)
      {
        #expect(records.device == .sample("phone-1", failures: 3, version: 2))
      }
    },

    // R43
    Check(name: "a binding's App Attest key is kept, and its receipt apart from it") { store in
      let binding = BindingRecord.sample("b-1").with { ($0.appAttest, $0.proofCounter) = (.sample, 4) }
      let receipt = AppAttestRecord.sampleReceipt
      try await store.commit(.putBinding(binding), .putReceipt(bindingID: "b-1", receipt))
      // Twice: the first read may come from the disk and the second from memory.
      for _ in 0..<2 { #expect(try await store.attemptRecords(bindingID: "b-1").binding == binding.stored) }
      #expect(try await store.receipt(ofBinding: "b-1") == receipt)
      #expect(try await store.receipt(ofBinding: "b-2") == [])
      try await store.commit(.putBinding(binding.stored.revoked()))
      #expect(try await store.attemptRecords(bindingID: "b-1").binding == binding.stored.revoked().stored)
      #expect(try await store.receipt(ofBinding: "b-1") == receipt)
    },

    // R43
    Check(name: "a receipt goes over to the next binding, with the change set or not at all") { store in
      let first = BindingRecord.sample("b-1").with { $0.appAttest = .sample }
      let second = BindingRecord.sample("b-2").with { $0.appAttest = .sample }
      try await store.commit(.putBinding(first), .putReceipt(bindingID: "b-1", [1, 2, 3]))
      let replacement = [
        Change.putBinding(first.stored.revoked()), .putBinding(second), .moveReceipt(from: "b-1", to: "b-2"),
      ]
      let refusal = await errorCode {
        try await store.commit(replacement + [.requireDevice(id: "x", vendor: .everybody, version: 7)])
      }
      #expect(refusal == .conflict)
      #expect(try await store.receipt(ofBinding: "b-1") == [1, 2, 3])
      try await store.commit(replacement)
      #expect(try await store.receipt(ofBinding: "b-1") == [])
      #expect(try await store.receipt(ofBinding: "b-2") == [1, 2, 3])
      // One that there is none of.
      let third = BindingRecord.sample("b-3")
      try await store.commit(
        .putBinding(second.stored.revoked()), .putBinding(third), .moveReceipt(from: "b-1", to: "b-3"))
      #expect(try await store.receipt(ofBinding: "b-3") == [])
    },

    Check(name: "the posture that a binding was last seen with is kept, and changes no version") { store in
      let (first, second) = (SeenPosture.sample(), SeenPosture.sample(osVersion: OSVersion(18), isProven: true))
      let binding = BindingRecord.sample("b-1").with { $0.lastSeen = first }
      try await store.commit(.putBinding(binding), .putBinding(.sample("b-2")))
      #expect(try await store.attemptRecords(bindingID: "b-1").binding == binding.stored)
      try await store.commit(
        .notePosture(bindingID: "b-1", second), .touchBinding(id: "b-1", version: 1, lastUsedAt: Sample.now))
      let noted = try await store.attemptRecords(bindingID: "b-1").binding
      #expect(noted == binding.stored.with { ($0.lastSeen, $0.lastUsedAt) = (second, Sample.now) })
      #expect(try await store.attemptRecords(bindingID: "b-2").binding?.lastSeen == nil)
      #expect(try await store.bindings().map(\.lastSeen) == [second, nil])
      // One that was read before, and one that is put with it.
      try await store.commit(.putBinding(binding.stored), .notePosture(bindingID: "b-2", first))
      #expect(try await store.attemptRecords(bindingID: "b-1").binding?.lastSeen == second)
      #expect(try await store.attemptRecords(bindingID: "b-2").binding?.lastSeen == first)
      try await store.commit(.notePosture(bindingID: "nobody's", first))
      try await store.commit(.eraseProfile(.alice))
      try await store.commit(.notePosture(bindingID: "b-1", first))
      #expect(try await store.attemptRecords(bindingID: "b-1").binding == nil)
      try await store.commit(.putBinding(.sample("b-1")))
      #expect(try await store.attemptRecords(bindingID: "b-1").binding?.lastSeen == nil)
    },

    // R8
    Check(name: "each vendor has its own record of a device, byte for byte") { store in
      let vendors: [Vendor] = [
        .everybody, .named("acme"), .application("acme"), .named("acm"), .application("caf\u{e9}"),
        .application("cafe\u{301}"),
      ]
      try await store.commit(.putBinding(.sample("b-1", device: "phone-1")))
      for (number, vendor) in vendors.enumerated().reversed() {
        let device = DeviceRecord(
          deviceID: "phone-1", vendor: vendor, biometry: BiometryStanding(consecutiveFailures: UInt32(number + 1)))
        try await store.commit(.putDevice(device))
      }
      for (number, vendor) in vendors.enumerated() {
        let records = try await store.attemptRecords(bindingID: "b-1", vendor: vendor)
        #expect(records.device.biometry.consecutiveFailures == UInt32(number + 1))
        #expect(records.device.vendor == vendor)
        #expect(try await store.device(id: "phone-1", vendor: vendor) == records.device)
        try await store.commit(.requireDevice(id: "phone-1", vendor: vendor, version: 1))
        try await expectRefused(.requireDevice(id: "phone-1", vendor: vendor, version: 0), by: store)
      }
      try await store.commit(.eraseProfile(.alice))
      #expect(try await store.device(id: "phone-1", vendor: .named("acme")).version == 1)
    },

    // R8: locks do not vanish with the first configuration file.
    Check(name: "what everybody knew of a device holds for a vendor until its first own record") { store in
      let acme = Vendor.named("acme")
      try await store.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 5)))
      var inherited = try await store.attemptRecords(bindingID: "b-1", vendor: acme).device
      #expect(inherited.biometry.isLockedOut)
      #expect((inherited.version, inherited.vendor) == (0, acme))
      #expect(try await store.device(id: "phone-1", vendor: acme) == inherited)
      try await store.commit(.requireDevice(id: "phone-1", vendor: acme, version: 0))
      inherited.biometry = BiometryStanding()
      try await store.commit(.putDevice(inherited))
      try await expectRefused(.putDevice(inherited), by: store)
      #expect(try await !store.attemptRecords(bindingID: "b-1", vendor: acme).device.biometry.isLockedOut)
      // One vendor's unlocking is nothing to the others.
      #expect(try await store.device(id: "phone-1", vendor: .named("trust")).biometry.isLockedOut)
      #expect(try await store.device(id: "phone-1").version == 1)
    },

    Check(name: "a token's state and transaction are stored") { store in
      for (state, transaction) in [
        (TokenState.issued, [UInt8](repeating: 0xA5, count: 16_384)), (.consumed, [0]), (.revoked, []),
      ] {
        let token = TokenRecord(key: .sample(), state: state, transaction: transaction, version: 0)
        #expect(try await store.token(token.key) == nil)
        try await store.commit(.putToken(token))
        #expect(
          try await store.token(token.key)
            == TokenRecord(key: token.key, state: state, transaction: transaction, version: 1))
      }
    },

    Check(name: "keys that differ in expiry alone are different keys") { store in
      let id = UniqueID.random()
      let early = ExpiringKey(expiresAt: Sample.now, id: id)
      let late = ExpiringKey(expiresAt: Sample.now + .microseconds(1), id: id)
      try await store.commit(.putToken(TokenRecord(key: early, state: .issued, transaction: [], version: 0)))
      #expect(try await store.token(late) == nil)
      #expect(try await store.token(early) != nil)
    },

    Check(name: "identifiers are compared byte for byte, at any length they may have") { store in
      let ids = ["é", "e\u{301}", "É", "é ", String(repeating: "指", count: 42), String(repeating: "x", count: 128)]
      for (count, id) in ids.enumerated() {
        try await store.commit(
          .putDevice(.sample(id, failures: UInt32(count))),
          .putBinding(.sample(id, application: id, profile: id, device: id)),
          .putProfile(ProfileRecord(applicationID: id, profileID: id)))
      }
      for (count, id) in ids.enumerated() {
        #expect(try await store.device(id: id).biometry.consecutiveFailures == UInt32(count))
        let bindings = try await store.bindings(applicationID: id, profileID: id)
        #expect(bindings.map { Array($0.bindingID.utf8) } == [Array(id.utf8)])
        #expect(try await store.enrolmentRecords(applicationID: id, profileID: id).profile.version == 1)
      }
    },
  ]
}
