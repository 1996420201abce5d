// The spans of calls: which calls have them, and what they say.

import Synchronization
import Testing
import TouchstoneTraces

@testable import TouchstoneService

@Suite("Spans of calls")
struct CallTraceTests {
  private final class Sink: Sendable {
    private let kept = Mutex<[TracedCall]>([])
    var calls: [TracedCall] { kept.withLock { $0 } }

    func tracer(share: Double) -> CallTracer {
      CallTracer(share: share) { [self] call in kept.withLock { $0.append(call) } }
    }

    func method(_ name: String) throws -> TracedCall {
      try #require(calls.last { $0.name.hasSuffix("/" + name) })
    }
  }

  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let span = "00f067aa0ba902b7"
  private static let sampled = "00-\(trace)-\(span)-01"

  private func texts(_ call: TracedCall) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: call.attributes.compactMap { attribute in
        guard case .text(let text) = attribute.value else { return nil }
        return (attribute.key, text)
      })
  }

  @Test("A login's calls are below the caller's span, and their parts below them")
  func login() async throws {
    let sink = Sink()
    let service = try await TestService.start(tracer: sink.tracer(share: 0))
    let traced = service.traced(by: Self.sampled)
    let phone = try await traced.bind()
    let opened = try await traced.begin(phone)
    _ = try await traced.submit(phone, opened)
    let attempt = try sink.method("SubmitAttempt")
    #expect(attempt.name == "touchstone.v1.EvaluationService/SubmitAttempt")
    #expect(attempt.traceID.description == Self.trace)
    #expect(attempt.parent?.description == Self.span)
    #expect(attempt.parts.map(\.name) == ["decode", "open", "read", "verify", "decide", "commit"])
    #expect(attempt.parts.allSatisfy { attempt.begin <= $0.begin && $0.begin <= $0.end && $0.end <= attempt.end })
    #expect(Set(attempt.parts.map(\.id) + [attempt.id]).count == 7)
    #expect(!attempt.isFailure)
    #expect(attempt.attributes.contains(.init("rpc.grpc.status_code", .number(0))))
    #expect(
      texts(attempt) == [
        "rpc.system": "grpc", "rpc.service": "touchstone.v1.EvaluationService", "rpc.method": "SubmitAttempt",
        "touchstone.caller": "local", "touchstone.application": TestService.applicationID,
        "touchstone.event": "evaluation.succeeded", "touchstone.policy": "login", "touchstone.factor": "biometry",
      ])
    #expect(try sink.method("BeginEvaluation").parts.map(\.name) == ["decode", "read", "decide"])
    #expect(try sink.method("CompleteBinding").parts.map(\.name) == ["decode", "open", "verify", "decide", "commit"])
  }

  @Test("A secret is counted, verified, decided")
  func secret() async throws {
    let sink = Sink()
    let service = try await TestService.start(tracer: sink.tracer(share: 1))
    _ = try await service.set(.passcode("2468"))
    _ = try await service.attempt(.typed("2468"))
    let parts = try sink.method("SubmitAttempt").parts.map(\.name)
    #expect(parts.filter { $0 != "read" } == ["decode", "open", "commit", "verify", "decide", "commit"])
  }

  @Test("A call without a parent begins a trace, if it is one of the share")
  func share() async throws {
    let (all, none) = (Sink(), Sink())
    let service = try await TestService.start(tracer: all.tracer(share: 1))
    for _ in 0..<3 { _ = try await service.begin(profileID: "nobody") }
    #expect(all.calls.count == 3)
    #expect(Set(all.calls.map(\.traceID)).count == 3)
    #expect(all.calls.allSatisfy { $0.parent == nil })
    let other = try await TestService.start(tracer: none.tracer(share: 0))
    _ = try await other.begin(profileID: "nobody")
    #expect(none.calls.isEmpty)
  }

  @Test("A parent that is not sampled has no spans here")
  func unsampled() async throws {
    let sink = Sink()
    let service = try await TestService.start(tracer: sink.tracer(share: 1))
    _ = try await service.traced(by: "00-\(Self.trace)-\(Self.span)-00").begin(profileID: "nobody")
    #expect(sink.calls.isEmpty)
  }

  @Test("A refused call has its status; that of the caller is no failure of the service")
  func refused() async throws {
    let sink = Sink()
    let service = try await TestService.start(tracer: sink.tracer(share: 1))
    _ = await refusal { try await service.begin(profileID: "", policy: "no such policy") }
    let call = try sink.method("BeginEvaluation")
    #expect(call.attributes.contains(.init("rpc.grpc.status_code", .number(3))))
    #expect(!call.isFailure)
  }

  @Test("A caller that is not known costs no spans")
  func strangers() async throws {
    let sink = Sink()
    let service = try await TestService.start(tracer: sink.tracer(share: 1)) { $0.callers = [] }
    _ = await refusal { try await service.traced(by: Self.sampled).begin(profileID: "nobody") }
    #expect(sink.calls.isEmpty)
  }
}
