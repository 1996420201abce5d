import DispatchRPC
import Synchronization
import RPCChannel
import RPCLoopback
import Testing

@testable import TouchstoneClient

// Which calls are made again by themselves: those of which the service says that they may be repeated, and no other.

extension RPCRouter {
  /// Fails the first call of the method, and answers the next.
  fileprivate mutating func failOnce<Request: WireMessage, Response: WireMessage>(
    _ name: String, _ code: RPCCode, _ request: Request.Type, _ response: Response
  ) {
    let calls = Atomic(0)
    serve(name) { (_, _: Request) in
      let isFirst = calls.add(1, ordering: .relaxed).oldValue == 0
      return isFirst ? .failure(RPCError(code: code, message: "once")) : .success(response)
    }
  }
}

@Suite struct RepeatTests {
  @Test(arguments: [RPCCode.unavailable, .aborted])
  func whatChangesNothingIsRepeated(code: RPCCode) async throws {
    let service = try Loopback {
      $0.failOnce("BindingService/GetBinding", code, V1.GetBindingRequest.self, V1.GetBindingResponse())
    }
    let client = TouchstoneClient(target: service.target)
    _ = try await client.bindingID(echoing: "b")
    #expect(client.statistics.retries == 1)
    await service.stop()
  }

  /// A payment's token serves once: the second call would be told that somebody else used it.
  @Test func whatServesOnceIsNotRepeatedWhenItMayHaveHappened() async throws {
    let service = try Loopback {
      $0.failOnce("TokenService/ConsumeToken", .unavailable, V1.ConsumeTokenRequest.self, V1.ConsumeTokenResponse())
    }
    let client = TouchstoneClient(target: service.target)
    let error = await failure { () throws(TouchstoneError) in
      try await client.consumeToken(V1.ConsumeTokenRequest(applicationID: "shop", token: "t"))
    }
    #expect(error == TouchstoneError(code: .unavailable, message: "once"))
    await service.stop()
  }

  @Test func whatSurelyDidNotHappenIsRepeatedWhateverItIs() async throws {
    let service = try Loopback {
      $0.failOnce("TokenService/ConsumeToken", .aborted, V1.ConsumeTokenRequest.self, V1.ConsumeTokenResponse())
    }
    let client = TouchstoneClient(target: service.target)
    _ = try await client.consumeToken(V1.ConsumeTokenRequest(applicationID: "shop", token: "t"))
    #expect(client.statistics.retries == 1)
    await service.stop()
  }

  /// The reasons are at `RepeatedCalls.policies`.
  @Test(arguments: [
    V1.EvaluationService.submitAttempt.descriptor, V1.BindingService.completeBinding.descriptor,
    V1.SecretService.setSecret.descriptor, V1.SecretService.removeSecret.descriptor,
    V1.SecretService.setUnlockSettings.descriptor, V1.TokenService.consumeToken.descriptor,
  ])
  func whatHasAnotherEffectTheSecondTimeIsNotRepeated(method: MethodDescriptor) {
    #expect(RepeatedCalls.policies[method.path] == nil)
  }
}
