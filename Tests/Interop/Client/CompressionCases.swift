// Cases with messages in gzip. The server says INVALID_ARGUMENT where a request came otherwise than it says of itself.

import DispatchRPC
import InteropSupport

enum CompressionCases {
  static func clientUnary(_ client: TestClient) async throws {
    let probe = request(expectingCompressed: true).encoded()
    try expect(await UnaryCases.outcome(client.channel, .unaryCall, probe), failsWith: .invalidArgument)
    for (isCompressed, compression) in [(true, RPCCompression.gzip), (false, .identity)] {
      let (response, _) = try await UnaryCases.call(
        client.channel, request(expectingCompressed: isCompressed), compression: compression)
      try expect(response.payload, isZeros: UnaryCases.responseBytes)
    }
  }

  static func serverUnary(_ client: TestClient) async throws {
    for isCompressed in [true, false] {
      var request = UnaryCases.largeRequest
      request.responseCompressed = BoolValue(isCompressed)
      let (response, raw) = try await UnaryCases.call(client.channel, request)
      try expect(raw.messageWasCompressed, is: isCompressed, "the response's compression")
      try expect(response.payload, isZeros: UnaryCases.responseBytes)
    }
  }

  static func clientStreaming(_ client: TestClient) async throws {
    let probe = client.channel.open(.streamingInputCall)
    probe.send(part(27_182, expectingCompressed: true))
    probe.finishSending()
    try expect(try await probe.end(), failsWith: .invalidArgument)

    let call = client.channel.open(.streamingInputCall, compression: .gzip)
    call.send(part(27_182, expectingCompressed: true))
    call.send(part(45_904, expectingCompressed: false), compressed: false)
    call.finishSending()
    let response: StreamingInputCallResponse = try await StreamCases.message(of: call)
    try expect(response.aggregatedPayloadSize, is: 73_086, "the sum of all payloads")
    _ = try await call.end().get()
  }

  static func serverStreaming(_ client: TestClient) async throws {
    let responses: [(size: Int32, isCompressed: Bool)] = [(31_415, true), (92_653, false)]
    let call = client.channel.open(.streamingOutputCall)
    var request = StreamingOutputCallRequest()
    request.responseParameters = responses.map { ResponseParameters(size: $0.size, compressed: $0.isCompressed) }
    call.send(request)
    call.finishSending()
    for (size, isCompressed) in responses {
      try await StreamCases.expectResponse(of: call, size)
      try expect(call.messageWasCompressed, is: isCompressed, "the response's compression")
    }
    _ = try await call.end().get()
  }

  private static func request(expectingCompressed isExpected: Bool) -> SimpleRequest {
    var request = UnaryCases.largeRequest
    request.expectCompressed = BoolValue(isExpected)
    return request
  }

  private static func part(_ bytes: Int, expectingCompressed isExpected: Bool) -> StreamingInputCallRequest {
    var request = StreamingInputCallRequest()
    request.payload = Payload(zeros: bytes)
    request.expectCompressed = BoolValue(isExpected)
    return request
  }
}
