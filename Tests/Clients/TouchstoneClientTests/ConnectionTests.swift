import DispatchPool
import DispatchRPC
import RPCChannel
import TestSupport
import Testing

@testable import TouchstoneClient

// Connections as a caller sees them: found, spread over, lost, found again.

@Suite struct ConnectionTests {
  @Test(arguments: [1, 2, 3])
  func callsSpreadOverTheConnections(connections: Int) async throws {
    let callers = Box<(RPCServerCall, V1.GetBindingRequest)>()
    let service = try TestService(
      .getBinding { call, request in
        callers.put((call, request))
        return nil
      })
    let client = TouchstoneClient(target: service.target, connections: connections)
    try await withThrowingTaskGroup { group in
      try await eventually {
        client.channel.connect()
        return client.statistics.connections.serving >= connections
      }
      for _ in 0..<6 { group.addTask { try await client.bindingID(echoing: "b") } }
      var calls: [RPCServerCall] = []
      while calls.count < 6 { calls.append(await callers.next().0) }
      #expect(Set(calls.map(\.peer)).count == connections)
      let answer = try V1.GetBindingResponse().encoded()
      for call in calls { call.respond(answer) }
      try await group.waitForAll()
    }
    await service.stop()
  }

  @Test func findsTheServiceAgainAfterARestart() async throws {
    let first = try TestService(.echo)
    let client = TouchstoneClient(target: first.target)
    #expect(try await client.bindingID(echoing: "1") == "1")
    await first.stop()
    let second = try TestService(at: first.address, .echo)
    #expect(try await client.bindingID(echoing: "2", options: CallOptions(waitForReady: true)) == "2")
    await second.stop()
  }

  @Test func aServiceOutOfReachIsUnavailableAndSaysWhy() async throws {
    let gone = try TestService(.echo)
    await gone.stop()
    let client = TouchstoneClient(target: gone.target)
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("refused") == true)
  }

  @Test func aNameWithSeveralAddressesIsTriedInTurn() async throws {
    let service = try TestService(at: .resolve(host: "127.0.0.1", port: 0)[0], .echo)
    // ::1 comes first where the resolver knows it; the service listens on 127.0.0.1 alone.
    let client = TouchstoneClient(target: "localhost:\(service.address.port)")
    #expect(try await client.bindingID(echoing: "b") == "b")
    await service.stop()
  }

  @Test(arguments: ["localhost", "localhost:", ":7443", "::1:7443", "[]:7443", "localhost:99999"])
  func aMalformedTargetIsUnavailableAndSaysSo(target: String) async {
    let client = TouchstoneClient(target: target)
    let error = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") }
    #expect(error?.code == .unavailable)
    #expect(error?.message == "no connection: the target '\(target)' is not host:port")
  }

  @Test func closeLetsRunningCallsEnd() async throws {
    let begun = Box<RPCServerCall>()
    let service = try TestService(
      .getBinding { call, _ in
        begun.put(call)
        return nil
      })
    let client = TouchstoneClient(target: service.target)
    async let answer = client.bindingID(echoing: "")
    let call = await begun.next()
    async let closed: Void = client.close(grace: .seconds(3_600))
    try await eventually { client.statistics.connections.goingAway > 0 }
    let refused = await failure { () throws(TouchstoneError) in try await client.bindingID(echoing: "") }
    #expect(refused == TouchstoneError(code: .cancelled, message: "the channel is closed"))
    call.respond(try V1.GetBindingResponse(binding: V1.Binding(bindingID: "late")).encoded())
    #expect(try await answer == "late")
    await closed
    await service.stop()
  }

  @Test func aCallThatTheServiceNeverSawIsSentAgain() async throws {
    let service = try TestService(.echo)
    let proxy = try GoingAwayProxy(to: service.address)
    let client = TouchstoneClient(target: proxy.target)
    #expect(try await client.bindingID(echoing: "again", options: CallOptions(waitForReady: true)) == "again")
    #expect(proxy.refusedCalls == 1)
    await service.stop()
  }
}
