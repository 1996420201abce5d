// The audit log: numbered without gaps, chained, found by filter (R41).

internal import Testing
internal import TouchstonePolicy
internal import TouchstoneStore

extension StoreConformance {
  static let eventChecks: [Check] = [
    Check(name: "an empty log ends where the chain begins") { store async throws in
      #expect(try await store.eventChainHead() == .genesis)
      #expect(try await store.events() == [])
    },

    Check(name: "events keep all their fields and their order within a change set") { store in
      let events = [
        EventDraft.sample("a", details: []),
        .sample("b", details: [EventDetail(key: "", value: ""), EventDetail(key: "ключ", value: "\0\n\u{1F512}")]),
        .sample("c", application: "", profile: "", details: (10..<40).map { EventDetail(key: "\($0)", value: "v") }),
      ]
      try await store.commit(events: events)
      let records = try await store.events()
      #expect(records.compactMap(\.event) == events)
      #expect(records.map(\.sequence) == [1, 2, 3])
    },

    Check(name: "events are found by application, profile and kind") { store in
      try await store.commit(events: [
        .sample("binding.created", profile: "alice"), .sample("evaluation.failed", profile: "bob"),
        .sample("evaluation.succeeded", profile: "alice"),
        .sample("evaluation.succeeded", application: "com.example.shop", profile: "alice"),
      ])
      let found: [(EventFilter, [UInt64])] = [
        (EventFilter(applicationID: ""), [1, 2, 3, 4]),
        (EventFilter(applicationID: Sample.application), [1, 2, 3]),
        (EventFilter(applicationID: Sample.application, profileID: "alice"), [1, 3]),
        (EventFilter(applicationID: "com.example.shop", profileID: "bob"), []),
        (EventFilter(applicationID: Sample.application, kindPrefixes: ["evaluation."]), [2, 3]),
        (EventFilter(applicationID: "", kindPrefixes: ["binding.", "evaluation.s"]), [1, 3, 4]),
        (EventFilter(applicationID: "", kindPrefixes: ["created"]), []),
      ]
      for (filter, sequences) in found {
        #expect(try await store.events(matching: filter).map(\.sequence) == sequences)
      }
    },

    Check(name: "few events are found in a long log, in order and in pages") { store in
      for number in 0..<100 {
        try await store.commit(events: (0..<20).map { EventDraft.sample("many", profile: "\($0)") })
        if number.isMultiple(of: 40) { try await store.commit(events: [.sample("few", application: "few")]) }
      }
      let few: [UInt64] = [21, 822, 1_623]
      let filter = EventFilter(applicationID: "few")
      #expect(try await store.events(matching: filter).map(\.sequence) == few)
      #expect(try await store.events(matching: filter, afterSequence: 21, limit: 1).map(\.sequence) == [822])
      #expect(try await store.events(matching: filter, afterSequence: 1_623) == [])
      let ofOne = EventFilter(applicationID: Sample.application, profileID: "7", kindPrefixes: ["man"])
      let found = try await store.events(matching: ofOne, afterSequence: 8, limit: 1_000).map(\.sequence)
      #expect(found.count == 99)
      #expect(found == found.sorted())
      #expect(found.first == 29)
    },

    Check(name: "events are read in pages, from after a sequence") { store in
      try await store.commit(events: (0..<10).map { EventDraft.sample($0.isMultiple(of: 2) ? "even" : "odd") })
      let even = EventFilter(applicationID: "", kindPrefixes: ["even"])
      #expect(try await store.events(afterSequence: 3, limit: 4).map(\.sequence) == [4, 5, 6, 7])
      #expect(try await store.events(matching: even, afterSequence: 3, limit: 2).map(\.sequence) == [5, 7])
      #expect(try await store.events(afterSequence: 10) == [])
      #expect(try await store.events(afterSequence: .max) == [])
      #expect(try await store.events(limit: 0) == [])
    },

    Check(name: "a page of events says up to where nothing is missing") { store in
      try await store.commit(events: (0..<10).map { EventDraft.sample($0.isMultiple(of: 2) ? "even" : "odd") })
      try await store.commit(events: [.sample("odd", application: "com.example.shop")])
      let even = EventFilter(applicationID: Sample.application, kindPrefixes: ["even"])
      #expect(try await store.eventPage(matching: even, limit: 3).through == 5)
      #expect(try await store.eventPage(matching: even, limit: 5).through == 9)
      #expect(try await store.eventPage(matching: even, limit: 6).through == 11)
      #expect(try await store.eventPage(matching: even, afterSequence: 9).through == 11)
      #expect(try await store.eventPage(matching: EventFilter(applicationID: "none")).through == 11)
      #expect(try await store.eventPage(limit: 11).through == 11)
    },

    Check(name: "one read looks at a bounded number of events, and the next goes on") { store in
      let count = 3 * EventPage.maximumRows
      for _ in 0..<count / 64 {
        try await store.commit(events: (0..<64).map { EventDraft.sample("many", profile: $0 == 63 ? "bob" : "alice") })
      }
      try await store.commit(events: [.sample("few")])
      let end = UInt64(count + 1)
      let filters = [
        EventFilter(applicationID: "", kindPrefixes: ["few"]),
        EventFilter(applicationID: Sample.application, kindPrefixes: ["few"]),
        EventFilter(applicationID: Sample.application, profileID: "alice", kindPrefixes: ["few"]),
      ]
      for filter in filters {
        var (position, reads): (UInt64, Int) = (0, 0)
        var found: [UInt64] = []
        while position < end {
          let page = try await store.eventPage(matching: filter, afterSequence: position)
          #expect(page.through > position && page.end == end)
          #expect(page.reachesEnd == (page.through == end))
          found += page.events.map(\.sequence)
          position = page.through
          reads += 1
        }
        #expect(found == [end])
        #expect((3...5).contains(reads), "\(filter)")
      }
      // A full page that ends where the log ends says so.
      let last = try await store.eventPage(matching: filters[0], afterSequence: end - 1, limit: 1)
      #expect(last.events.map(\.sequence) == [end] && last.reachesEnd)
    },

    Check(name: "events are found by device, binding, caller and reason, and none of them by what it begins with") {
      store in
      func because(_ reason: String) -> [EventDetail] { [EventDetail(key: "reason", value: reason)] }
      try await store.commit(events: [
        .sample(), .sample(device: "phone-2", details: because("WRONG_SECRET")),
        .sample(profile: "bob", binding: "b-2", details: because("WRONG_SECRET_2")),
        .sample(caller: "web", details: [EventDetail(key: "stated_reason", value: "reason WRONG_SECRET")]),
        .sample(application: "", profile: "", device: "", binding: "", details: because("WRONG_SECRET")),
      ])
      var filters: [(EventFilter, [UInt64])] = []
      func expect(
        _ sequences: [UInt64], application: String = "", profile: String = "", _ set: (inout EventFilter) -> Void
      ) {
        var filter = EventFilter(applicationID: application, profileID: profile)
        set(&filter)
        filters.append((filter, sequences))
      }
      expect([2]) { $0.deviceID = "phone-2" }
      expect([]) { $0.deviceID = "phone" }
      expect([3], application: Sample.application) { $0.bindingID = "b-2" }
      expect([4]) { $0.caller = "web" }
      expect([2, 5]) { $0.reason = "WRONG_SECRET" }
      expect([2], application: Sample.application, profile: "alice") { $0.reason = "WRONG_SECRET" }
      expect([3], application: Sample.application, profile: "bob") { $0.reason = "WRONG_SECRET_2" }
      expect([]) { ($0.reason, $0.caller) = ("WRONG_SECRET", "web") }
      for (filter, sequences) in filters {
        #expect(try await store.events(matching: filter).map(\.sequence) == sequences, "\(filter)")
      }
    },

    Check(name: "events are found by their times, and a read looks at none after the last one that may be wanted") {
      store in
      try await store.commit(
        events: (0..<200).map { .sample(profile: $0 % 10 == 3 ? "bob" : "alice", at: Sample.now + .seconds($0)) })
      try await store.commit(.eraseProfile(.sample("bob")))
      for name in ["", Sample.application] {
        for profile in name.isEmpty ? [""] : ["", "alice"] {
          var filter = EventFilter(applicationID: name, profileID: profile)
          filter.times = Sample.now + .seconds(40)..<Sample.now + .seconds(60)
          filter.through = 70
          let page = try await store.eventPage(matching: filter, afterSequence: 30)
          let wanted = (41...60).filter { $0 % 10 != 4 }.map { UInt64($0) }
          #expect(page.events.map(\.sequence) == wanted)
          #expect(page.through == 70 && page.end > 200)
          #expect(try await store.eventPage(matching: filter, afterSequence: 30, limit: 3).events.count == 3)
          #expect(try await store.eventPage(matching: filter, afterSequence: 70).events == [])
        }
      }
      // Erased ones match a filter without conditions, also up to an event.
      var all = EventFilter(applicationID: "")
      all.through = 5
      #expect(try await store.events(matching: all).map(\.sequence) == [1, 2, 3, 4, 5])
    },

    Check(name: "a time has a place in the log: before it all events are earlier, after it none is") { store in
      #expect(try await store.eventPlace(at: Sample.now) == 0)
      try await store.commit(
        events: (0..<300).map { .sample(profile: $0 % 7 < 3 ? "bob" : "alice", at: Sample.now + .seconds($0 / 2)) })
      for second in [-1, 0, 1, 17, 100, 149, 150, 4_000] {
        let place = try await store.eventPlace(at: Sample.now + .seconds(second))
        #expect(place == UInt64(min(max(second, 0), 150) * 2), "\(second)")
      }
      try await store.commit(.eraseProfile(.sample("bob")))
      let events = try await store.events().prefix(300)
      for second in [0, 1, 17, 100, 149] {
        let time = Sample.now + .seconds(second)
        let place = try await store.eventPlace(at: time)
        for record in events {
          guard let event = record.event else { continue }
          #expect((event.time < time) == (record.sequence <= place), "\(second) \(record.sequence)")
        }
      }
      try await store.dropEvents(through: 100)
      #expect(try await store.eventPlace(at: Sample.now) == 100)
      #expect(try await store.eventPlace(at: Sample.now + .seconds(200)) >= 300)
    },

    Check(name: "the filter admits what the store finds by it") { store in
      let kinds = ["a", "a.b", "b"]
      let drafts = kinds.flatMap { kind in
        ["alice", "bob", ""].flatMap { profile in
          [Sample.application, "com.example.shop"].map { EventDraft.sample(kind, application: $0, profile: profile) }
        }
      }
      try await store.commit(events: drafts)
      let all = try await store.events()
      for application in ["", Sample.application, "none"] {
        for profile in ["", "alice"] {
          for prefixes in [[], ["a"], ["a.", "b"]] {
            let filter = EventFilter(applicationID: application, profileID: profile, kindPrefixes: prefixes)
            #expect(try await store.events(matching: filter) == all.filter(filter.includes))
          }
        }
      }
    },
  ]
}
