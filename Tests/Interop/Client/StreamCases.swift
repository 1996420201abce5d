// Cases with several messages.

import DispatchRPC
import InteropSupport

enum StreamCases {
  private static let requestSizes = [27_182, 8, 1_828, 45_904]
  private static let responseSizes: [Int32] = [31_415, 9, 2_653, 58_979]
  /// The specification's 1 ms.
  private static let shortTimeout = Duration.milliseconds(1)

  static func clientStreaming(_ client: TestClient) async throws {
    let call = client.channel.open(.streamingInputCall)
    for size in requestSizes {
      var request = StreamingInputCallRequest()
      request.payload = Payload(zeros: size)
      call.send(request)
    }
    call.finishSending()
    let response: StreamingInputCallResponse = try await message(of: call)
    try expect(response.aggregatedPayloadSize, is: 74_922, "the sum of all payloads")
    _ = try await call.end().get()
  }

  static func serverStreaming(_ client: TestClient) async throws {
    let call = client.channel.open(.streamingOutputCall)
    var request = StreamingOutputCallRequest()
    request.responseParameters = responseSizes.map { ResponseParameters(size: $0) }
    call.send(request)
    call.finishSending()
    for size in responseSizes { try await expectResponse(of: call, size) }
    _ = try await call.end().get()
  }

  static func pingPong(_ client: TestClient) async throws {
    let call = client.channel.open(.fullDuplexCall)
    for (requestSize, responseSize) in zip(requestSizes, responseSizes) {
      call.send(ping(requestSize, answeredBy: responseSize))
      try await expectResponse(of: call, responseSize)
    }
    call.finishSending()
    _ = try await call.end().get()
  }

  /// The server answers when it has all requests.
  static func halfDuplex(_ client: TestClient) async throws {
    let call = client.channel.open(.halfDuplexCall)
    for size in responseSizes {
      var request = StreamingOutputCallRequest()
      request.responseParameters = [ResponseParameters(size: size)]
      call.send(request)
    }
    call.finishSending()
    for size in responseSizes { try await expectResponse(of: call, size) }
    _ = try await call.end().get()
  }

  /// Reads much more slowly than the server could send.
  static func slowConsumer(_ client: TestClient) async throws {
    let (count, size) = (2_000, Int32(1_030))
    let call = client.channel.open(.streamingOutputCall)
    var request = StreamingOutputCallRequest()
    request.responseParameters = [ResponseParameters](repeating: ResponseParameters(size: size), count: count)
    call.send(request)
    call.finishSending()
    for _ in 0..<count {
      try await Task.sleep(for: .milliseconds(1))
      try await expectResponse(of: call, size)
    }
    _ = try await call.end().get()
  }

  static func empty(_ client: TestClient) async throws {
    let call = client.channel.open(.fullDuplexCall)
    call.finishSending()
    _ = try await call.end().get()
  }

  static func cancelAfterBegin(_ client: TestClient) async throws {
    let call = client.channel.open(.streamingInputCall)
    call.cancel()
    try expect(try await call.end(), failsWith: .cancelled)
  }

  static func cancelAfterFirstResponse(_ client: TestClient) async throws {
    let call = client.channel.open(.fullDuplexCall)
    call.send(ping(requestSizes[0], answeredBy: responseSizes[0]))
    try await expectResponse(of: call, responseSizes[0])
    call.cancel()
    try expect(try await call.end(), failsWith: .cancelled)
  }

  static func timeoutOnSleepingServer(_ client: TestClient) async throws {
    let call = client.channel.open(.fullDuplexCall, timeout: shortTimeout)
    var request = StreamingOutputCallRequest()
    request.payload = Payload(zeros: requestSizes[0])
    call.send(request)
    try expect(try await call.end(), failsWith: .deadlineExceeded)
  }

  static func customMetadata(_ client: TestClient) async throws {
    let call = client.channel.open(.fullDuplexCall, metadata: EchoedMetadata.request)
    call.send(ping(UnaryCases.requestBytes, answeredBy: UnaryCases.responseBytes))
    call.finishSending()
    try await expectResponse(of: call, UnaryCases.responseBytes)
    let trailer = try await call.end().get()
    try EchoedMetadata.check(initial: call.initialMetadata, trailing: trailer)
  }

  static func expectEcho(of status: EchoStatus, _ client: TestClient) async throws {
    let call = client.channel.open(.fullDuplexCall)
    var request = StreamingOutputCallRequest()
    request.responseStatus = status
    call.send(request)
    call.finishSending()
    try expect(try await call.end(), failsWith: .unknown, message: status.message)
  }
}

extension StreamCases {
  static func ping(_ bytes: Int, answeredBy size: Int32) -> StreamingOutputCallRequest {
    var request = StreamingOutputCallRequest()
    request.responseParameters = [ResponseParameters(size: size)]
    request.payload = Payload(zeros: bytes)
    return request
  }

  static func message<Message: WireMessage>(of call: Conversation) async throws -> Message {
    guard let bytes = await call.nextMessage() else {
      throw CaseFailure("the call ended early: \(try await call.end())")
    }
    return try Message(decoding: bytes)
  }

  static func expectResponse(of call: Conversation, _ size: Int32) async throws {
    let response: StreamingOutputCallResponse = try await message(of: call)
    try expect(response.payload, isZeros: size)
  }
}
