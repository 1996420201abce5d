import Dispatch
import DispatchPool
import DispatchRPC
import RPCChannel
import TestSupport
import Testing

@testable import TouchstoneClient

// One call: its answer, its errors, its end.

@Suite struct CallTests {
  @Test func answersWithTheMessage() async throws {
    let service = try TestService(.echo)
    let client = TouchstoneClient(target: service.target)
    #expect(try await client.bindingID(echoing: "b-1") == "b-1")
    await service.stop()
  }

  @Test func completesOnTheGivenQueue() async throws {
    let service = try TestService(.echo)
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
    let service = try TestService(
      .getBinding { call, request in
        let metadata = call.metadata
        seen.put(["authorization", "traceparent", "accept-language"].map(metadata.first))
        return respond(call, request)
      })
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
    let service = try TestService(
      .getBinding { _, _ in
        var metadata = Metadata()
        metadata.append("grpc-status-details-bin", binary: bytes)
        return .failure(RPCError(code: .invalidArgument, message: "bad request", metadata: metadata))
      })
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
    let service = try TestService(
      .getBinding { _, _ in
        var metadata = Metadata()
        metadata.append("grpc-status-details-bin", binary: [0xFF])
        return .failure(RPCError(code: .permissionDenied, message: "not yours", metadata: metadata))
      })
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
    var router = RPCRouter()
    router.register("/touchstone.v1.BindingService/GetBinding") { call, _ in call.respond([0xFF, 0xFF]) }
    let service = try TestService(router)
    let client = TouchstoneClient(target: service.target)
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") }
    #expect(error?.code == .internalError)
    await service.stop()
  }

  @Test func endsAtItsDeadline() async throws {
    let service = try TestService(.getBinding { _, _ in nil })
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
    let service = try TestService(
      .getBinding { call, _ in
        call.onCancel { ended.put($0) }
        begun.put(())
        return nil
      })
    let client = TouchstoneClient(target: service.target)
    let task = Task { await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") } }
    await begun.next()
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    #expect(await ended.next() == .reset)
    await service.stop()
  }

  @Test func cancellingWhileWaitingForAStream() async throws {
    var configuration = RPCServerConfiguration()
    configuration.maxConcurrentStreams = 1
    let begun = Box<Void>()
    let service = try TestService(
      configuration: configuration,
      .getBinding { _, _ in
        begun.put(())
        return nil
      })
    let client = TouchstoneClient(target: service.target)
    let first = Task { await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "1") } }
    await begun.next()
    let second = Task { await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "2") } }
    try await eventually { client.statistics.connections.waiting > 0 }
    second.cancel()
    #expect(await second.value?.code == .cancelled)
    first.cancel()
    #expect(await first.value?.code == .cancelled)
    await service.stop()
  }

  @Test func aCancelledTaskMakesNoCall() async {
    let client = TouchstoneClient(target: "127.0.0.1:1")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") }
    }
    #expect(await task.value?.code == .cancelled)
  }
}
