// A line for each decision, and in none of them a person, a device or a secret.

import InMemoryLogging
import Logging
import Testing
import TouchstoneStore

@testable import TouchstoneService

@Suite("Lines of decisions")
struct DecisionLogTests {
  private typealias Entry = InMemoryLogHandler.Entry

  private func lines(_ service: TestService) -> [String] { service.log.entries.map { $0.message.description } }

  /// The fields of a line.
  private func fields(_ entry: Entry?) -> [String: String] {
    guard case .stringConvertible(let value)? = entry?.metadata[DecisionFields.key],
      let fields = value as? DecisionFields
    else { return [:] }
    var found: [String: String] = [:]
    fields.forEach { name, value in
      switch value {
      case .text(let text): found[name] = text
      case .thousandths(let number): found[name] = "\(Double(number) / 1_000)"
      }
    }
    return found
  }

  @Test("Binding, login, denial, revocation: one line each, with what was decided")
  func decisions() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    let opened = try await service.begin(phone)
    #expect(lines(service) == ["binding.created"])
    _ = try await service.submit(phone, opened)
    let login = try #require(service.log.entries.last)
    #expect(login.level == .info)
    #expect(login.message.description == "evaluation.succeeded")
    #expect(fields(login)["rpc"] == "/touchstone.v1.EvaluationService/SubmitAttempt")
    #expect(fields(login)["application"] == TestService.applicationID)
    #expect(fields(login)["caller"] == "local")
    #expect(fields(login)["policy"] == "login")
    #expect(fields(login)["factor"] == "biometry")
    #expect(Double(fields(login)["duration_ms"] ?? "").map { $0 > 0 } == true)
    // A used evaluation.
    _ = try await service.submit(phone, opened)
    #expect(fields(service.log.entries.last)["factor"] == "biometry")
    try await service.revoke(phone)
    #expect(
      lines(service) == ["binding.created", "evaluation.succeeded", "evaluation.refused", "binding.revoked"])
  }

  @Test("A lock has a line of its own, and a report of the device one without a factor")
  func locks() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    for _ in 0..<5 {
      let opened = try await service.begin(phone)
      _ = try await service.submit(phone, opened, phone.wrongProof(for: opened))
    }
    #expect(lines(service).suffix(2) == ["evaluation.locked_out", "lock.began"])
    #expect(fields(service.log.entries.last)["lock"] == "device")
    #expect(fields(service.log.entries.dropLast().last)["counted"] == "yes")
    _ = try await service.begin(phone)
    #expect(lines(service).last == "evaluation.denied")
    #expect(fields(service.log.entries.last)["reason"] == "BIOMETRY_LOCKOUT")
  }

  @Test("Refusals that are left out of the audit log have no lines, and the next line says how many they were")
  func leftOut() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    let opened = try await service.begin(phone)
    for _ in 0..<41 { _ = try await service.submit(phone, opened) }
    #expect(lines(service).count { $0 == "evaluation.refused" } == RefusalThrottle.burst)
    #expect(service.events.count { $0.kind == "evaluation.refused" } == RefusalThrottle.burst)
    // Less than an evaluation's life.
    service.clock.advance(by: RefusalThrottle.interval)
    _ = try await service.submit(phone, opened)
    #expect(lines(service).last == "evaluation.refused")
    #expect(fields(service.log.entries.last)["suppressed"] == "\(40 - RefusalThrottle.burst)")
  }

  @Test("No line names a person, a device, a binding, a token or a transaction, or holds a text of the caller")
  func names() async throws {
    let service = try await TestService.start()
    let phone = try await service.bind()
    let opened = try await service.begin(phone, policy: "payment", transaction: .dinner)
    _ = try await service.submit(phone, opened)
    _ = try await service.set(.passcode("2468"))
    _ = try await service.attempt(.typed("1357"))
    try await service.revoke(phone)
    let text = service.log.entries.map { "\($0.message) \($0.metadata)" }.joined()
    #expect(service.log.entries.count >= 4)
    #expect(service.events.contains { $0.profileID == "alice" })
    let event = try #require(service.events.first { !$0.deviceID.isEmpty })
    let hidden = service.events.flatMap(\.details).filter {
      ["transaction", "token_id", "stated_reason"].contains($0.key)
    }
    for secret in ["alice", "2468", "1357", event.deviceID, phone.bindingID] + hidden.map(\.value) {
      #expect(!text.contains(secret), "\(secret)")
    }
  }

  @Test("A line has the trace that its caller names, whether it is sampled or not", arguments: [true, false])
  func trace(isTraced: Bool) async throws {
    let service = try await TestService.start(tracer: isTraced ? CallTracer(share: 0) { _ in } : nil)
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    for flags in ["00", "01"] {
      _ = try await service.traced(by: "00-\(trace)-00f067aa0ba902b7-\(flags)").bind()
      #expect(fields(service.log.entries.last)["trace_id"] == trace)
    }
    _ = try await service.traced(by: "nonsense").bind()
    #expect(lines(service).last == "binding.created")
    #expect(fields(service.log.entries.last)["trace_id"] == nil)
  }
}
