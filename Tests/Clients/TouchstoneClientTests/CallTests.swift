import Dispatch
import DispatchRPC
import RPCLoopback
import TestSupport
import Testing

@testable import TouchstoneClient

// One call: its answer, its errors, its end.

@Suite struct CallTests {
  @Test func answersWithTheMessage() async throws {
    let service = try Loopback { $0.getBinding() }
    let client = TouchstoneClient(target: service.target)
    #expect(try await client.bindingID(echoing: "b-1") == "b-1")
    await service.stop()
  }

  @Test func completesOnTheGivenQueue() async throws {
    let service = try Loopback { $0.getBinding() }
    let client = TouchstoneClient(target: service.target)
    let queue = DispatchQueue(label: "caller")
    let result = await withCheckedContinuation { continuation in
      client.getBinding(V1.GetBindingRequest(bindingID: "b-2"), queue: queue) { result in
        dispatchPrecondition(condition: .onQueue(queue))
        continuation.resume(returning: result)
      }
    }
    #expect(try result.get().binding?.bindingID == "b-2")
    await service.stop()
  }

  @Test func sendsMetadataAndLanguages() async throws {
    let seen = Box<[String?]>()
    let service = try Loopback {
      $0.getBinding { call, request in
        let metadata = call.metadata
        seen.put(["authorization", "traceparent", "accept-language"].map(metadata.first))
        return respond(call, request)
      }
    }
    let client = TouchstoneClient(target: service.target) { $0.metadata = [("authorization", "Bearer k")] }
    let options = CallOptions(languages: "zh-Hans, en;q=0.5", metadata: [("traceparent", "00-1")])
    _ = try await client.bindingID(echoing: "", options: options)
    #expect(await seen.next() == ["Bearer k", "00-1", "zh-Hans, en;q=0.5"])
    await service.stop()
  }

  @Test func anErrorBringsItsDetails() async throws {
    let details = RPCDetail.Status(
      code: 3, message: "bad request",
      details: [
        .badRequest(.init(fieldViolations: [.init(field: "binding_id", description: "is empty")])),
        .retryInfo(.init(retryDelay: V1.Duration(seconds: 1, nanoseconds: 500_000_000))),
        .errorInfo(.init(reason: "FIELD_INVALID", domain: "touchstone")),
      ])
    let bytes = try details.encoded()
    let service = try Loopback {
      $0.getBinding { _, _ in
        var metadata = Metadata()
        metadata.append("grpc-status-details-bin", binary: bytes)
        return .failure(RPCError(code: .invalidArgument, message: "bad request", metadata: metadata))
      }
    }
    let client = TouchstoneClient(target: service.target)
    let error = try #require(await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") })
    #expect(error.code == .invalidArgument)
    #expect(error.fieldViolations.map(\.field) == ["binding_id"])
    #expect(error.retryAfter == .milliseconds(1500))
    #expect(error.reason == "FIELD_INVALID")
    #expect(error.description == "INVALID_ARGUMENT: bad request; binding_id: is empty")
    await service.stop()
  }

  @Test func unreadableDetailsLeaveCodeAndMessage() async throws {
    let service = try Loopback {
      $0.getBinding { _, _ in
        var metadata = Metadata()
        metadata.append("grpc-status-details-bin", binary: [0xFF])
        return .failure(RPCError(code: .permissionDenied, message: "not yours", metadata: metadata))
      }
    }
    let client = TouchstoneClient(target: service.target)
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") }
    #expect(error == TouchstoneError(code: .permissionDenied, message: "not yours"))
    await service.stop()
  }

  @Test func aRequestThatCannotBeEncodedNamesTheField() async {
    let client = TouchstoneClient(target: "127.0.0.1:1")
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "b\0") }
    #expect(error?.code == .invalidArgument)
    #expect(error?.fieldViolations.map(\.field) == ["binding_id"])
  }

  @Test func anAnswerThatIsNotTheMessageIsInternal() async throws {
    let service = try Loopback { router in
      router.register("/touchstone.v1.BindingService/GetBinding") { call, _ in call.respond([0xFF, 0xFF]) }
    }
    let client = TouchstoneClient(target: service.target)
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") }
    #expect(error?.code == .internalError)
    await service.stop()
  }

  @Test func endsAtItsDeadline() async throws {
    let service = try Loopback { $0.getBinding { _, _ in nil } }
    let client = TouchstoneClient(target: service.target)
    let options = CallOptions(timeout: .milliseconds(20))
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "", options: options)
    }
    #expect(error?.code == .deadlineExceeded)
    await service.stop()
  }

  @Test func cancellingTheTaskCancelsTheCallAtTheService() async throws {
    let begun = Box<Void>()
    let ended = Box<RPCCancellation>()
    let service = try Loopback {
      $0.getBinding { call, _ in
        call.onCancel { ended.put($0) }
        begun.put(())
        return nil
      }
    }
    let client = TouchstoneClient(target: service.target)
    let task = Task { await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") } }
    await begun.next()
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    #expect(await ended.next() == .reset)
    await service.stop()
  }

  @Test func waitsForTheServiceIfToldTo() async throws {
    let gone = try Loopback()
    await gone.stop()
    let client = TouchstoneClient(target: gone.target)
    async let answer = client.bindingID(echoing: "2", options: CallOptions(waitForReady: true))
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "1") }
    #expect(error?.code == .unavailable)
    let service = try Loopback(at: gone.address) { $0.getBinding() }
    #expect(try await answer == "2")
    await service.stop()
  }
}
