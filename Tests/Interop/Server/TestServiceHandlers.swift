// The test service as interop-test-descriptions.md wants it ("Server features").

import DispatchRPC
import Glibc
import InteropSupport

struct TestServiceHandlers: Sendable {
  /// The same for all calls of this process, and for no other's.
  let serverID = "interop-server-\(getpid())-\(UInt64.random(in: .min ... .max))"

  func register(on router: inout RPCRouter) {
    router.register(TestMethod.emptyCall.path, Self.emptyCall)
    router.register(TestMethod.unaryCall.path, unaryCall)
    router.register(TestMethod.cacheableUnaryCall.path, Self.cacheableUnaryCall)
    router.registerServerStreaming(TestMethod.streamingOutputCall.path, Self.streamingOutputCall)
    router.registerClientStreaming(TestMethod.streamingInputCall.path, Self.streamingInputCall)
    router.registerBidirectional(TestMethod.fullDuplexCall.path, Self.fullDuplexCall)
    router.registerBidirectional(TestMethod.halfDuplexCall.path, Self.halfDuplexCall)
  }
}

// MARK: - One answer

extension TestServiceHandlers {
  private static func emptyCall(_ call: RPCServerCall, _ message: UnsafeRawBufferPointer) {
    answer(call, message) { (_: Empty) throws(RPCError) in Empty() }
  }

  private func unaryCall(_ call: RPCServerCall, _ message: UnsafeRawBufferPointer) {
    Self.answer(call, message) { (request: SimpleRequest) throws(RPCError) in
      try request.expectCompressed.check(call)
      if let status = request.responseStatus { throw RPCError(echoing: status, trailing: call.metadata.echoedTrailer) }
      var response = SimpleResponse()
      response.payload = try Payload(ofSize: request.responseSize)
      if request.fillServerID { response.serverID = serverID }
      return response
    }
  }

  /// Ignores what it is asked; a cache before the server may keep the answer.
  private static func cacheableUnaryCall(_ call: RPCServerCall, _ message: UnsafeRawBufferPointer) {
    var response = SimpleResponse()
    response.payload = Payload("\(MonotonicTime.now().nanoseconds)")
    call.respond(response.encoded(), initialMetadata: [("cache-control", "max-age=60, public")])
  }

  private static func answer<Request: WireMessage>(
    _ call: RPCServerCall, _ message: UnsafeRawBufferPointer,
    _ body: (Request) throws(RPCError) -> some WireMessage
  ) {
    let metadata = call.metadata
    do throws(RPCError) {
      let response = try body(decode(message))
      call.respond(
        response.encoded(), initialMetadata: metadata.echoedHeader, trailingMetadata: metadata.echoedTrailer)
    } catch {
      call.fail(error)
    }
  }

  static func decode<Message: WireMessage>(_ bytes: UnsafeRawBufferPointer) throws(RPCError) -> Message {
    do throws(MalformedMessage) {
      return try Message(decoding: bytes)
    } catch {
      throw RPCError(code: .invalidArgument, message: "malformed message")
    }
  }
}

// MARK: - Streams

extension TestServiceHandlers {
  private static func streamingOutputCall(
    _ stream: RPCServerStream, _ message: UnsafeRawBufferPointer
  ) -> RPCServerStream.EventHandler {
    let responses = ResponseSequence(trailer: echoMetadata(on: stream))
    responses.take(message, on: stream)
    responses.finish(on: stream)
    return { stream, event in
      if case .writable = event { responses.sendMore(on: stream) }
    }
  }

  private static func streamingInputCall(_ stream: RPCServerStream) -> RPCServerStream.EventHandler {
    let trailer = echoMetadata(on: stream)
    let sum = PayloadSum()
    stream.request(.max)
    return { stream, event in
      switch event {
      case .message(let bytes): sum.take(bytes, on: stream)
      case .end: stream.respond(sum.response.encoded(), trailingMetadata: trailer)
      case .writable: break
      }
    }
  }

  /// One request at a time: the next is read when all that the last one asked for was sent.
  private static func fullDuplexCall(_ stream: RPCServerStream) -> RPCServerStream.EventHandler {
    let responses = ResponseSequence(trailer: echoMetadata(on: stream)) { $0.request(1) }
    stream.request(1)
    return { stream, event in
      switch event {
      case .message(let bytes): responses.take(bytes, on: stream)
      case .end: responses.finish(on: stream)
      case .writable: responses.sendMore(on: stream)
      }
    }
  }

  /// Reads all requests before it answers the first.
  private static func halfDuplexCall(_ stream: RPCServerStream) -> RPCServerStream.EventHandler {
    let responses = ResponseSequence(trailer: echoMetadata(on: stream), isHeld: true)
    stream.request(.max)
    return { stream, event in
      switch event {
      case .message(let bytes): responses.take(bytes, on: stream)
      case .end: responses.finish(on: stream)
      case .writable: responses.sendMore(on: stream)
      }
    }
  }

  /// Sends the header at once, as the client may wait for it; returns the trailer.
  private static func echoMetadata(on stream: RPCServerStream) -> Metadata {
    let metadata = stream.metadata
    stream.sendInitialMetadata(metadata.echoedHeader)
    return metadata.echoedTrailer
  }
}

/// Confined to its call's event loop.
private final class PayloadSum: @unchecked Sendable {
  private(set) var response = StreamingInputCallResponse()

  func take(_ bytes: UnsafeRawBufferPointer, on stream: RPCServerStream) {
    do throws(RPCError) {
      let request: StreamingInputCallRequest = try TestServiceHandlers.decode(bytes)
      try request.expectCompressed.check(stream)
      response.aggregatedPayloadSize &+= Int32(truncatingIfNeeded: request.payload?.body.count ?? 0)
    } catch {
      stream.fail(error)
    }
  }
}

extension Metadata {
  fileprivate var echoedHeader: Metadata {
    var echo = Metadata()
    if let value = first(EchoKey.initial) { echo.append(EchoKey.initial, value) }
    return echo
  }

  fileprivate var echoedTrailer: Metadata {
    var echo = Metadata()
    if let value = firstBinary(EchoKey.trailing) { echo.append(EchoKey.trailing, binary: value) }
    return echo
  }
}

extension RPCError {
  init(echoing status: EchoStatus, trailing: Metadata) {
    self.init(code: RPCCode(rawValue: UInt8(clamping: status.code)), message: status.message, metadata: trailing)
  }
}

extension BoolValue? {
  /// Whether the message that holds this came as it says; one that says nothing may come either way.
  func check(_ call: RPCServerContext) throws(RPCError) {
    guard let expected = self?.value, expected != call.messageWasCompressed else { return }
    let wrong = expected ? "not compressed" : "compressed"
    throw RPCError(code: .invalidArgument, message: "the message came \(wrong), unlike what it says")
  }
}

extension Payload {
  /// No larger than a message may be, so that nobody makes the server set gigabytes aside.
  init(ofSize size: Int32) throws(RPCError) {
    guard size >= 0 else { throw RPCError(code: .invalidArgument, message: "a payload of \(size) bytes") }
    guard size <= RPCServerConfiguration().maxResponseMessageBytes else {
      throw RPCError(code: .resourceExhausted, message: "a payload of \(size) bytes is too large")
    }
    self.init(zeros: Int(size))
  }
}
