// The encoder's output: exact bytes, always the same, and never half a string.

import CodecMessages
import Testing

@testable import TouchstoneCodec

@Suite struct EncodingTests {
  @Test func `the bytes are protobuf's`() throws {
    let denial = V1.Denial(
      laError: .biometryLockout, reason: "LOCKED_OUT", message: V1.LocalizedText(locale: "en"),
      retryAfter: V1.Duration(seconds: 60))
    let laError: [UInt8] = [0x08, 0xF8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]  // -8 in 64 bits
    let reason = [0x12, 10] + Array("LOCKED_OUT".utf8)
    let message: [UInt8] = [0x1A, 4, 0x0A, 2, 0x65, 0x6E]
    let retryAfter: [UInt8] = [0x22, 2, 0x08, 60]
    #expect(try denial.encoded() == laError + reason + message + retryAfter)
  }

  @Test(arguments: AnyMessageType.all) func `an empty message is no bytes, and no bytes are an empty message`(
    _ type: AnyMessageType
  ) throws {
    #expect(try type.roundTrip([], MessageCoder()).bytes == [])
  }

  @Test func `names are protobuf's`() {
    #expect(V1.ProfileTouchIDProof.fullName == "touchstone.v1.ProfileTouchIdProof")
    #expect(RPCDetail.BadRequest.FieldViolation.fullName == "google.rpc.BadRequest.FieldViolation")
  }

  @Test func `an empty submessage is present`() throws {
    let hidden = V1.BeginEvaluationRequest(fallbackTitle: V1.Title(text: ""))
    #expect(try hidden.encoded() == Wire.field(5, []))
    #expect(try V1.BeginEvaluationRequest.decoded(from: hidden.encoded()).fallbackTitle == V1.Title())
    #expect(try V1.BeginEvaluationRequest.decoded(from: []).fallbackTitle == nil)
  }

  @Test func `an empty string in a oneof is present`() throws {
    let request = V1.AcceptDomainStateRequest(evidence: .token(""))
    #expect(try request.encoded() == Wire.field(4, ""))
    #expect(try V1.AcceptDomainStateRequest.decoded(from: request.encoded()).evidence == .token(""))
  }

  @Test func `numbers are packed`() throws {
    #expect(try V1.GestureProof(points: [0, 1, 2, 4, 8]).encoded() == Wire.field(1, [0, 1, 2, 4, 8]))
  }

  @Test func `map entries stand in the order of their keys' bytes`() throws {
    func entry(_ key: String, _ value: String) -> [UInt8] { Wire.field(9, Wire.field(1, key) + Wire.field(2, value)) }
    let details = ["policy": "pay", "é": "3", "Z": "1", "a": "2"]
    let bytes = entry("Z", "1") + entry("a", "2") + entry("policy", "pay") + entry("é", "3")
    for _ in 0..<10 {
      // Another dictionary each time, with another order of its own.
      let shuffled = Dictionary(uniqueKeysWithValues: details.shuffled())
      #expect(try V1.Event(details: shuffled).encoded() == bytes)
    }
  }

  @Test func `values at the ends of their ranges survive`() throws {
    let timestamps = [V1.Timestamp(seconds: .min, nanoseconds: .min), V1.Timestamp(seconds: .max, nanoseconds: .max)]
    for timestamp in timestamps { #expect(try V1.Timestamp.decoded(from: timestamp.encoded()) == timestamp) }
    let request = V1.ListEventsRequest(afterSequence: .max, pageSize: .max)
    #expect(try V1.ListEventsRequest.decoded(from: request.encoded()) == request)
  }

  @Test func `a page of 1,000 events passes within the limits for answers, not within those for requests`() throws {
    let event = V1.Event(
      sequence: 1, time: V1.Timestamp(seconds: 1_700_000_000), kind: "evaluation.succeeded", applicationID: "bank",
      profileID: "alice", deviceID: "phone", bindingID: "b1", caller: "login", details: ["policy": "login"],
      hash: [UInt8](repeating: 7, count: 32))
    let page = V1.ListEventsResponse(events: [V1.Event](repeating: event, count: 1_000))
    let bytes = try page.encoded()
    #expect(try V1.ListEventsResponse.decoded(from: bytes, limits: .answers) == page)
    #expect(throws: DecodingError.self) { try V1.ListEventsResponse.decoded(from: bytes) }
  }
}

@Suite struct UnencodableTests {
  /// protobuf-c would write "admin" for "admin\0x".
  @Test func `NUL in a string is refused by its path`() {
    let title = V1.Title(text: "admin\0x")
    let error = #expect(throws: EncodingError.self) { try title.encoded() }
    #expect(error == EncodingError(code: .invalidText, field: "text", reason: "must not contain NUL"))
  }

  @Test func `the path leads through submessages, oneofs, lists and map entries`() {
    func path(_ message: some WireMessage) -> String? {
      #expect(throws: EncodingError.self) { try message.encoded() }?.field
    }
    #expect(path(V1.WatchEventsRequest(filter: V1.EventFilter(kinds: ["a", "b", "\0"]))) == "filter.kinds[2]")
    #expect(
      path(V1.SubmitAttemptRequest(attempt: .passcode(V1.PasscodeProof(passcode: "12\0")))) == "passcode.passcode")
    #expect(path(V1.AcceptDomainStateRequest(evidence: .token("\0"))) == "token")
    let events = [V1.Event(kind: "a"), V1.Event(details: ["a": "b", "c": "\0"])]
    #expect(path(V1.ListEventsResponse(events: events)) == "events[1].details[1].value")
  }

  @Test func `a message beyond the limit is refused, and the coder goes on`() throws {
    let coder = MessageCoder()
    for count in [MessageCoder.maximumEncodedBytes, 40 << 20] {
      let message = V1.ProfileTouchID(value: [UInt8](repeating: 1, count: count))
      let error = #expect(throws: EncodingError.self) { try coder.encode(message) }
      #expect(error?.code == .tooLarge)
    }
    #expect(try coder.encode(V1.Title(text: "a")) == [0x0A, 1, 0x61])
  }
}
