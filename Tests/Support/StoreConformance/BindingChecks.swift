// The invariants over several bindings, and how they are listed.

internal import Testing
internal import TouchstoneStore

extension StoreConformance {
  static let bindingChecks: [Check] = [
    // R29
    Check(name: "a device has one active binding in an application") { store in
      try await store.commit(.putBinding(.sample("b-1", device: "phone-1")))
      try await expectRefused(.putBinding(.sample("b-2", profile: "bob", device: "phone-1")), by: store)
      try await expectRefused(.putBinding(.sample("b-3", device: "phone-1")), by: store)
      try await store.commit(
        .putBinding(.sample("b-4", application: "com.example.shop", device: "phone-1")),
        .putBinding(.sample("b-5", device: "phone-1", isRevoked: true)),
        .putBinding(.sample("b-1", device: "phone-1", version: 1)))
      #expect(try await store.activeBinding(deviceID: "phone-1")?.bindingID == "b-1")
      #expect(try await store.activeBinding(deviceID: "phone-2") == nil)
    },

    // R29
    Check(name: "one change set replaces a device's binding, if it revokes the old one first") { store in
      let old = BindingRecord.sample("old", device: "phone-1")
      let new = BindingRecord.sample("new", profile: "bob", device: "phone-1")
      try await store.commit(.putBinding(old))
      await expectRefused(by: store, .putBinding(new), .putBinding(old.stored.revoked()))
      try await store.commit(.putBinding(old.stored.revoked()), .putBinding(new))
      #expect(try await store.activeBinding(deviceID: "phone-1") == new.stored)
      #expect(try await store.attemptRecords(bindingID: "old").binding == old.stored.revoked().stored)
    },

    Check(name: "one change set cannot make two active bindings of a device") { store in
      await expectRefused(
        by: store, .putBinding(.sample("b-1", device: "phone-1")), .putBinding(.sample("b-2", device: "phone-1")))
    },

    // R30
    Check(name: "a ProfileTouchID has one active binding in an application") { store in
      func binding(_ id: String, application: String = Sample.application) -> BindingRecord {
        .sample(id, application: application, credential: .profileTouchID(digest: [UInt8](repeating: 9, count: 32)))
      }
      try await store.commit(.putBinding(binding("b-1")))
      try await expectRefused(.putBinding(binding("b-2")), by: store)
      try await store.commit(.putBinding(binding("b-3", application: "com.example.shop")))
      try await store.commit(.putBinding(binding("b-1").stored.revoked()), .putBinding(binding("b-2")))
    },

    Check(name: "what completing a binding rests on") { store in
      try await store.commit(
        .putProfile(ProfileRecord(applicationID: Sample.application, profileID: "alice")),
        .putBinding(.sample("b-1", device: "phone-1")), .putBinding(.sample("b-2", device: "phone-2")),
        .putBinding(.sample("b-3", device: "phone-3", isRevoked: true)), .putDevice(.sample("phone-4", failures: 2)),
        .putBinding(.sample("b-4", profile: "bob", device: "phone-4")),
        .putBinding(.sample("b-5", application: "com.example.shop", device: "phone-1")))
      let alice = try await store.enrolmentRecords(profileID: "alice", deviceID: "phone-4")
      #expect(alice.profile.version == 1)
      #expect(alice.activeBindingCount == 2)
      #expect(alice.deviceBinding?.bindingID == "b-4")
      #expect(alice.device == .sample("phone-4", failures: 2, version: 1))
      let newcomer = try await store.enrolmentRecords(profileID: "carol", deviceID: "phone-3")
      #expect(newcomer.profile == ProfileRecord(applicationID: Sample.application, profileID: "carol"))
      #expect(newcomer.activeBindingCount == 0)
      #expect(newcomer.deviceBinding == nil)
      #expect(newcomer.device == DeviceRecord(deviceID: "phone-3"))
    },

    Check(name: "bindings are listed in pages, by id, with the revoked ones where asked") { store in
      for number in 10..<20 {
        try await store.commit(.putBinding(.sample("b-\(number)", isRevoked: number.isMultiple(of: 5))))
      }
      try await store.commit(.putBinding(.sample("a-stranger", profile: "bob")))
      #expect(try await pages(of: store, includingRevoked: true, limit: 4).map(\.count) == [4, 4, 2])
      let all = try await pages(of: store, includingRevoked: true, limit: 3).joined().map(\.bindingID)
      #expect(all == (10..<20).map { "b-\($0)" })
      let active = try await pages(of: store, includingRevoked: false, limit: 3).joined().map(\.bindingID)
      #expect(active == all.filter { $0 != "b-10" && $0 != "b-15" })
      #expect(try await store.bindings(limit: 0) == [])
    },
  ]

  private static func pages(
    of store: any Store, includingRevoked: Bool, limit: Int
  ) async throws -> [[BindingRecord]] {
    var pages: [[BindingRecord]] = []
    while true {
      let page = try await store.bindings(
        includingRevoked: includingRevoked, after: pages.last?.last?.bindingID, limit: limit)
      if page.isEmpty { return pages }
      pages.append(page)
    }
  }

  private static func expectRefused(by store: any Store, _ first: Change, _ second: Change) async {
    let refusal = await errorCode { try await store.commit(first, second) }
    #expect(refusal == .conflict)
  }
}
