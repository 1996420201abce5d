// Profiles: their secrets and settings, and the profile that an attempt finds.

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let profileChecks: [Check] = [
    // R32
    Check(name: "an incarnation is stored, whatever was drawn") { store in
      for (number, incarnation) in [1, UInt64(Int64.max)].enumerated() {
        let profile = ProfileRecord.sample("profile-\(number)", incarnation: incarnation)
        try await store.commit(.putProfile(profile))
        #expect(try await store.profile("profile-\(number)") == profile.stored)
      }
    },

    Check(name: "a profile is stored with all its fields") { store in
      let locks: [SecretStanding.Lock] = [.none, .until(Sample.now + .seconds(3_600)), .untilSetAnew]
      for (number, lock) in locks.enumerated() {
        var profile = ProfileRecord.sample("profile-\(number)", settings: .sample, passcode: .sample(lock: lock))
        profile.gesture = .sample(verifier: [], lock: locks[2 - number], isSet: false, setAt: Sample.now + .seconds(1))
        try await store.commit(.putProfile(profile))
        #expect(try await store.profile("profile-\(number)") == profile.stored)
      }
    },

    Check(name: "profiles' ids are listed in the order of their bytes, of one application, without erasure marks") {
      store in
      let ids = ["anna", "anna-2", "annb", "ann", "Anna", "än", "anna\u{10FFFF}", "zoe", "a%", "an_a"]
      for id in ids + ["erased"] { try await store.commit(.putProfile(.sample(id))) }
      try await store.commit(.putProfile(.sample("anna-3", application: "com.example.shop")))
      try await store.commit(.eraseProfile(.sample("erased")))
      let sorted = ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      #expect(try await store.profileIDs(from: "A") == sorted)
      #expect(try await store.profileIDs(from: "ann", limit: 4) == ["ann", "anna", "anna-2", "anna\u{10FFFF}"])
      #expect(try await store.profileIDs(from: "annc") == ["zoe", "än"])
      #expect(try await store.profileIDs(from: "zoe-1", limit: 1) == ["än"])
      #expect(try await store.profileIDs(applicationID: "com.example.shop", from: "a") == ["anna-3"])
      #expect(try await store.profileIDs(applicationID: "none", from: "a") == [])
    },

    Check(name: "a profile may have any of its secrets, and any preference") { store in
      let secrets: [(SecretRecord?, SecretRecord?)] = [(nil, nil), (.sample(), nil), (nil, .sample())]
      for (number, (passcode, gesture)) in secrets.enumerated() {
        let profile = ProfileRecord.sample("profile-\(number)", passcode: passcode, gesture: gesture)
        try await store.commit(.putProfile(profile))
        #expect(try await store.profile("profile-\(number)") == profile.stored)
      }
      for factor in Factor.allCases {
        let profile = ProfileRecord.sample("\(factor)", settings: UnlockSettings(preferred: factor))
        try await store.commit(.putProfile(profile))
        #expect(try await store.profile("\(factor)").settings.preferred == factor)
      }
    },

    Check(name: "a secret's largest counts are stored, and a secret goes when it is put without") { store in
      let standing = SecretStanding(
        isSet: true, failures: .max, lock: .until(UnixTime(microseconds: .max)), inFlight: .max,
        inFlightUntil: UnixTime(microseconds: .max), generation: .max)
      let secret = SecretRecord(verifier: [UInt8](repeating: 0xFF, count: 512), standing: standing, setAt: Sample.now)
      let profile = ProfileRecord.sample(passcode: secret, gesture: secret)
      try await store.commit(.putProfile(profile))
      #expect(try await store.profile() == profile.stored)
      try await store.commit(.putProfile(.sample(gesture: secret, version: 1)))
      #expect(try await store.profile() == ProfileRecord.sample(gesture: secret, version: 2))
    },

    Check(name: "completing a binding rests on the whole profile, and leaves its secrets alone") { store in
      let profile = ProfileRecord.sample(settings: .sample, passcode: .sample())
      try await store.commit(.putProfile(profile))
      let read = try await store.enrolmentRecords(profileID: profile.profileID).profile
      #expect(read == profile.stored)
      try await store.commit(.putProfile(read), .putBinding(.sample("b-1")))
      #expect(try await store.attemptRecords(bindingID: "b-1").profile == profile.stored.stored)
    },

    Check(name: "profiles are compared byte for byte") { store in
      for (count, id) in ["é", "e\u{301}", "É", "é "].enumerated() {
        let standing = SecretStanding(isSet: true, failures: UInt32(count))
        let secret = SecretRecord(verifier: [1], standing: standing, setAt: Sample.now)
        try await store.commit(.putProfile(.sample(id, application: id, passcode: secret)))
      }
      for (count, id) in ["é", "e\u{301}", "É", "é "].enumerated() {
        let profile = try await store.profile(id, applicationID: id)
        #expect(profile.passcode?.standing.failures == UInt32(count))
        #expect(Array(profile.profileID.utf8) == Array(id.utf8))
      }
    },

    Check(name: "a binding's attempt comes with its device and its profile") { store in
      let profile = ProfileRecord.sample(passcode: .sample())
      try await store.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 2)),
        .putProfile(profile))
      let records = try await store.attemptRecords(bindingID: "b-1")
      #expect(records.binding == BindingRecord.sample("b-1", device: "phone-1").stored)
      #expect(records.device == .sample("phone-1", failures: 2, version: 1))
      #expect(records.profile == profile.stored)
    },

    // R37
    Check(name: "an unknown binding, and another application's, leads to no device and no profile") { store in
      try await store.commit(
        .putBinding(.sample("b-1", device: "phone-1")), .putDevice(.sample("phone-1", failures: 2)),
        .putProfile(.sample(passcode: .sample())))
      for (applicationID, bindingID) in [("com.example.shop", "b-1"), (Sample.application, "b-2")] {
        for vendor in [Vendor.everybody, .named("acme")] {
          #expect(
            try await store.attemptRecords(
              for: .binding(applicationID: applicationID, bindingID: bindingID), vendor: vendor)
              == AttemptRecords(
                binding: nil, device: .placeholder, profile: .placeholder(in: applicationID), evaluation: nil))
        }
      }
    },

    // R37
    Check(name: "a revoked binding is read with its own device and profile") { store in
      let profile = ProfileRecord.sample(settings: .sample, passcode: .sample())
      let binding = BindingRecord.sample("b-1", device: "phone-1")
      try await store.commit(
        .putBinding(binding), .putProfile(profile), .putDevice(.sample("phone-1", failures: 2)))
      let revoked = binding.stored.revoked()
      try await store.commit(.putBinding(revoked))
      // Twice: the first read may come from the disk and the second from memory.
      for _ in 0..<2 {
        #expect(
          try await store.attemptRecords(bindingID: "b-1")
            == AttemptRecords(
              binding: revoked.stored, device: .sample("phone-1", failures: 2, version: 1), profile: profile.stored,
              evaluation: nil))
      }
    },

    Check(name: "a profile's attempt has no binding, and the placeholder for a device") { store in
      let subject = AttemptSubject.profile(applicationID: Sample.application, profileID: "alice")
      let nobody = AttemptRecords(
        binding: nil, device: .placeholder,
        profile: ProfileRecord(applicationID: Sample.application, profileID: "alice"), evaluation: nil)
      #expect(try await store.attemptRecords(for: subject) == nobody)

      let key = ExpiringKey.sample()
      let profile = ProfileRecord.sample(passcode: .sample())
      try await store.commit(.putProfile(profile), .putBinding(.sample("b-1")), .putEvaluation(.init(key: key)))
      let records = try await store.attemptRecords(for: subject, evaluation: key)
      #expect(records.binding == nil)
      #expect(records.device == .placeholder)
      #expect(records.profile == profile.stored)
      #expect(records.evaluation == EvaluationRecord(key: key, version: 1))
      try await store.commit(.requireDevice(id: DeviceRecord.placeholder.deviceID, version: 0))
    },

    // R30
    Check(name: "a ProfileTouchID finds its active binding in its application alone") { store in
      let digest = [UInt8](repeating: 9, count: 32)
      let binding = BindingRecord.sample("b-1", device: "phone-1", credential: .profileTouchID(digest: digest))
      let profile = ProfileRecord.sample(passcode: .sample())
      try await store.commit(
        .putBinding(binding), .putDevice(.sample("phone-1", failures: 2)), .putProfile(profile),
        .putBinding(.sample("b-2", device: "phone-2")))
      let subject = AttemptSubject.profileTouchID(applicationID: Sample.application, digest: digest)
      let found = try await store.attemptRecords(for: subject)
      #expect(found.binding == binding.stored)
      #expect(found.device == .sample("phone-1", failures: 2, version: 1))
      #expect(found.profile == profile.stored)

      let unknown: [AttemptSubject] = [
        .profileTouchID(applicationID: "com.example.shop", digest: digest),
        .profileTouchID(applicationID: Sample.application, digest: [UInt8](repeating: 8, count: 32)),
        .profileTouchID(applicationID: Sample.application, digest: []),
      ]
      for subject in unknown { try await expectNobody(subject, in: store) }
      try await store.commit(.putBinding(binding.stored.revoked()))
      try await expectNobody(subject, in: store)
    },

    Check(name: "a condition on a profile holds at its version alone, and nobody's at 0") { store in
      try await store.commit(.putProfile(.sample(passcode: .sample())))
      func require(_ profileID: String, _ version: RecordVersion) -> Change {
        .requireProfile(applicationID: Sample.application, profileID: profileID, version: version)
      }
      try await store.commit(require("alice", 1), require("bob", 0))
      for refused in [require("alice", 0), require("alice", 2), require("bob", 1)] {
        try await expectRefused(refused, by: store)
      }
    },

    Check(name: "an evaluation's counts are kept apart") { store in
      let key = ExpiringKey.sample()
      let standing = EvaluationStanding(failures: 2, deviceOwnerFailures: 3, isFinished: true)
      try await store.commit(.putEvaluation(EvaluationRecord(key: key, standing: standing)))
      #expect(try await store.attemptRecords(bindingID: "b-1", evaluation: key).evaluation?.standing == standing)
    },
  ]

  private static func expectNobody(_ subject: AttemptSubject, in store: any Store) async throws {
    let records = try await store.attemptRecords(for: subject)
    #expect(records.binding == nil)
    #expect(records.device == .placeholder)
    #expect(records.profile.profileID.isEmpty && records.profile.version == 0)
  }
}
