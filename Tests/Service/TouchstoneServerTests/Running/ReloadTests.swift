// The settings that a reload takes, those that it refuses, and those that wait for a restart.

import Testing
import TouchstoneCrypto

@testable import TouchstoneServer

@Suite("Reloading", .serialized)
struct ReloadTests {
  @Test(
    "Settings that differ are named, but for those that a reload takes",
    arguments: [
      ("issuer: other", ["issuer"]),
      ("data_dir: elsewhere", ["data_dir"]),
      ("store: postgresql://db.example/touchstone", ["store"]),
      ("http: 127.0.0.1:9090", ["http"]),
      ("retention: {events: 400d, archive: archive}", ["retention"]),
      ("ticket_lifetime_seconds: 1\nshards: 2", ["shards", "ticket_lifetime_seconds"]),
      ("limits: {connections: 9}\nlisten: 127.0.0.1:1\nreflection: false", ["listen", "reflection", "limits"]),
      ("evaluation_lifetime_seconds: 9\ntoken_lifetime_seconds: 9\nkeys: elsewhere", []),
      ("vendors: {shop: [com.example.shop]}\npolicies: {mine: {purpose: login, factors: [biometry]}}", []),
      ("callers: [{name: local, methods: \"*\", applications: \"*\"}]", []),
      ("", []),
    ])
  func waiting(text: String, names: [String]) throws {
    let standard = try ProcessConfiguration.parse([], of: "")
    let read = try ProcessConfiguration.parse(Array(text.utf8), of: "")
    #expect(standard.settingsOtherThan(in: read).sorted() == names.sorted())
    #expect(read.settingsOtherThan(in: read).isEmpty)
  }

  @Test("What waits for a restart is logged, and again at the next reload")
  func restart() async throws {
    try await TestProcess.run { process, _ in
      for _ in 0..<2 {
        _ = try await process.reload("issuer: second\ntoken_lifetime_seconds: 99\n")
        let warning = await process.log.next(containing: "wait for a restart")
        #expect(warning.text.hasSuffix("settings=issuer") && warning.level == "warning")
      }
    }
  }

  @Test("Another pepper is refused, and so are keys that are gone")
  func keys() async throws {
    try await TestProcess.run { process, directory in
      try KeyStore.create(directory: directory + "/other")
      let pepper = try await process.reload("keys: \(directory)/other")
      #expect(pepper.text.contains("the pepper differs from the one with which this service runs"))
      let missing = try await process.reload("keys: \(directory)/nowhere")
      #expect(missing.text.contains("configuration refused, nothing changed at=touchstone: \(directory)/nowhere"))
      #expect(try await process.reload("").text.contains("configuration reloaded"))
    }
  }

  @Test(
    "A configuration without callers is refused as a whole while callers are in force",
    arguments: ["", "# nothing", "{}", "policies: {mine: {purpose: login, factors: [biometry]}}"])
  func callers(emptied: String) async throws {
    let callers = "callers: [{name: local, methods: \"*\", applications: \"*\"}]"
    try await TestProcess.run(callers) { process, _ in
      let refusal = try await process.reload(emptied)
      #expect(refusal.level == "error")
      #expect(refusal.text.contains("configuration refused, nothing changed at=touchstone: the configuration has no"))
      #expect(refusal.text.contains("section callers") && refusal.text.contains("restart the service if this is meant"))
      #expect(try await process.reload(callers).text.contains("callers=local"))
    }
  }

  @Test(
    "A file that changed is taken when two looks have seen it, and a wrong one is refused once until it changes again")
  func watching() async throws {
    try await TestProcess.run { process, _ in
      let evening = "policies: {evening: {purpose: login, factors: [biometry]}}\n"
      try await process.look(evening)
      let taken = await process.log.next(containing: "configuration reloaded")
      #expect(taken.text.contains("added=evening cause=files files=configuration"))

      try await process.look("policies: {}x", times: 5)
      let refusal = await process.log.next(containing: "configuration refused")
      #expect(refusal.text.hasSuffix("cause=files") && refusal.text.contains("touchstone.yaml:1:"))
      try await process.look(evening + "# mended\n", times: 5)
      #expect(await process.log.next(containing: "configuration re").text.contains("cause=files files=configuration"))

      // After the looks: their figures count no reload for files that stayed.
      #expect(try await process.reload(evening).text.contains("cause=signal files=configuration"))
      for (result, number) in [("done", 2.0), ("refused", 1)] {
        #expect(process.number("touchstone_reloads_total{result=\"\(result)\",cause=\"files\"}") == number)
      }
    }
  }

  @Test("Keys that are rotated are taken, and keys that the first start made are no change")
  func rotation() async throws {
    try await TestProcess.run { process, directory in
      try await process.look(times: 3)
      _ = try KeyStore.rotate(directory: directory + "/data/keys", .signing, usedFrom: 1)
      try await process.look()
      #expect(await process.log.next(containing: "configuration re").text.contains("cause=files files=keys"))
    }
  }

  @Test("An application that moves to another vendor is named")
  func vendors() async throws {
    try await TestProcess.run("vendors: {first: [com.example.shop]}") { process, _ in
      _ = try await process.reload("vendors: {second: [com.example.shop]}")
      let warning = await process.log.next(containing: "changed their vendor")
      #expect(warning.text.hasSuffix("applications=com.example.shop") && warning.level == "warning")
    }
  }
}
