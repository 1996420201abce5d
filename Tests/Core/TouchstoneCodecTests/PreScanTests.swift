// The faults of protobuf-c 1.4.1, each with what stands before it.

import Testing

@testable import TouchstoneCodec

/// Decodes, and answers the error there must be.
private func refusal<Message: WireMessage>(
  of bytes: [UInt8], as type: Message.Type, limits: DecodingLimits = .default,
  _ location: SourceLocation = #_sourceLocation
) -> DecodingError? {
  #expect(throws: DecodingError.self, sourceLocation: location) { try type.decoded(from: bytes, limits: limits) }
}

extension DecodingLimits {
  /// The defaults, but for one.
  fileprivate static func only(_ change: (inout DecodingLimits) -> Void) -> DecodingLimits {
    var limits = DecodingLimits.default
    change(&limits)
    return limits
  }
}

@Suite struct StructureTests {
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let field: String
    let reason: String
  }

  /// As touchstone.v1.CanEvaluatePolicyRequest.
  static let malformed = [
    Case(testDescription: "tag 0", bytes: [0x00, 0x01], field: "", reason: "has an invalid field number"),
    Case(
      testDescription: "tag 0, written long", bytes: [0x80, 0x00, 0x01], field: "",
      reason: "has an invalid field number"),
    Case(
      testDescription: "field number 2^29", bytes: Wire.field(1 << 29, varint: 1), field: "",
      reason: "has an invalid field number"),
    Case(
      testDescription: "field number that is 1 in 32 bits", bytes: Wire.field(1 << 32 | 1, "a"), field: "",
      reason: "has an invalid field number"),
    Case(
      testDescription: "group", bytes: Wire.key(9, 3) + Wire.key(9, 4), field: "9",
      reason: "is a group, which is not read"),
    Case(testDescription: "wire type 6", bytes: Wire.key(9, 6), field: "9", reason: "has the wrong wire type"),
    Case(
      testDescription: "wire type 7", bytes: Wire.key(1, 7), field: "application_id", reason: "has the wrong wire type"),
    Case(testDescription: "truncated key", bytes: [0x8A], field: "", reason: "is truncated"),
    Case(testDescription: "no length", bytes: Wire.key(1, 2), field: "application_id", reason: "is truncated"),
    Case(
      testDescription: "length beyond the end", bytes: [0x0A, 5, 0x61], field: "application_id", reason: "is truncated"),
    Case(
      testDescription: "length of 2^63", bytes: Wire.key(1, 2) + Wire.varint(1 << 63), field: "application_id",
      reason: "is truncated"),
    Case(
      testDescription: "length beyond the submessage", bytes: Wire.field(4, [0x0A, 9]) + Wire.field(1, "enough bytes"),
      field: "posture.platform", reason: "is truncated"),
    Case(
      testDescription: "varint of 11 bytes",
      bytes: Wire.field(4, Wire.key(5, 0) + [UInt8](repeating: 0x80, count: 10) + [0]),
      field: "posture.biometry_available", reason: "has a varint of more than 64 bits"),
    Case(
      testDescription: "varint of 65 bits",
      bytes: Wire.field(4, Wire.key(5, 0) + [UInt8](repeating: 0xFF, count: 9) + [0x02]),
      field: "posture.biometry_available", reason: "has a varint of more than 64 bits"),
    Case(
      testDescription: "truncated varint", bytes: Wire.field(4, Wire.key(4, 0) + [0x80]),
      field: "posture.biometry_type", reason: "is truncated"),
    Case(
      testDescription: "string as varint", bytes: Wire.field(1, varint: 1), field: "application_id",
      reason: "has the wrong wire type"),
    // protobuf-c takes a bool of any wire type.
    Case(
      testDescription: "bool as bytes", bytes: Wire.field(4, Wire.field(5, "x")), field: "posture.biometry_available",
      reason: "has the wrong wire type"),
    Case(
      testDescription: "bool as fixed32", bytes: Wire.field(4, Wire.key(5, 5) + [1, 0, 0, 0]),
      field: "posture.biometry_available", reason: "has the wrong wire type"),
    Case(
      testDescription: "truncated unknown fixed64", bytes: Wire.key(99, 1) + [1, 2, 3], field: "99",
      reason: "is truncated"),
    Case(
      testDescription: "truncated unknown fixed32", bytes: Wire.key(99, 5) + [1], field: "99", reason: "is truncated"),
  ]

  @Test(arguments: malformed) func `is refused`(_ malformed: Case) {
    let error = refusal(of: malformed.bytes, as: V1.CanEvaluatePolicyRequest.self)
    #expect(error == DecodingError(code: .malformed, field: malformed.field, reason: malformed.reason))
  }

  @Test func `a packed field whose last number is cut off is refused`() {
    let error = refusal(of: Wire.field(1, [1, 2, 0x80]) + Wire.field(1, varint: 3), as: V1.GestureProof.self)
    #expect(error == DecodingError(code: .malformed, field: "points", reason: "is truncated"))
  }

  @Test func `numbers are read packed and unpacked, also mixed`() throws {
    let bytes = Wire.field(1, [0, 1]) + Wire.field(1, varint: 2) + Wire.field(1, [3])
    #expect(try V1.GestureProof.decoded(from: bytes).points == [0, 1, 2, 3])
  }

  @Test func `unknown fields are skipped, whatever their wire type`() throws {
    let unknown =
      Wire.field(50, varint: 7) + Wire.key(51, 1) + [UInt8](repeating: 1, count: 8)
      + Wire.field(52, "\0") + Wire.key(53, 5) + [1, 2, 3, 4]
    let message = try V1.Title.decoded(from: unknown + Wire.field(1, "Pay") + unknown)
    #expect(message == V1.Title(text: "Pay"))
  }
}

@Suite struct TextTests {
  /// protobuf-c hands out C strings, in which "admin\0x" is "admin".
  @Test func `NUL in a string is refused`() {
    let error = refusal(of: Wire.field(1, "admin\0x"), as: V1.GetProfileRequest.self)
    #expect(error == DecodingError(code: .invalidText, field: "application_id", reason: "must not contain NUL"))
  }

  @Test func `NUL is found at any place of a long string`() {
    for position in 0..<40 {
      var text = [UInt8](repeating: 0x61, count: 40)
      text[position] = 0
      #expect(refusal(of: Wire.field(1, text), as: V1.Title.self)?.code == .invalidText)
    }
  }

  @Test func `NUL in bytes is a byte`() throws {
    #expect(try V1.ProfileTouchID.decoded(from: Wire.field(1, [0, 1, 0])).value == [0, 1, 0])
  }

  @Test func `the path leads through submessages, map entries and lists`() {
    let denial = Wire.field(2, Wire.field(3, Wire.field(2, [0xFF])))
    #expect(refusal(of: denial, as: V1.CanEvaluatePolicyResponse.self)?.field == "denial.message.text")
    let event = Wire.field(1, Wire.field(9, Wire.field(1, "key") + Wire.field(2, [0xFF])))
    #expect(refusal(of: event, as: V1.ListEventsResponse.self)?.field == "events.details.value")
    #expect(refusal(of: Wire.field(3, "a") + Wire.field(3, [0xFF]), as: V1.EventFilter.self)?.field == "kinds")
  }

  /// RFC 3629: each of these is no UTF-8.
  @Test(
    arguments: [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
      [0xE6, 0x8C], [0xE6, 0x8C, 0x41], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF],
      [0xF0, 0x9F, 0x94], [0xF0, 0x9F, 0x94, 0x41], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
    ] as [[UInt8]])
  func `invalid UTF-8 is refused, at the front, in the middle and at the end`(_ invalid: [UInt8]) {
    let ascii = Array("fingerprint".utf8)
    for text in [invalid, ascii + invalid, invalid + ascii, ascii + invalid + ascii] {
      let error = refusal(of: Wire.field(1, text), as: V1.Title.self)
      #expect(error == DecodingError(code: .invalidText, field: "text", reason: "is not valid UTF-8"))
    }
  }

  @Test(arguments: [
    "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
  ])
  func `the first and last code point of each length are accepted`(_ text: String) throws {
    for text in [text, "fingerprint" + text, text + "fingerprint", text + text] {
      #expect(try V1.Title.decoded(from: Wire.field(1, text)) == V1.Title(text: text))
    }
  }
}

@Suite struct BudgetTests {
  /// protobuf-c recurses as deep as the message goes.
  @Test func `depth is limited`() throws {
    let bytes = try V1.ExplainEvaluationResponse(
      answer: V1.BeginEvaluationResponse(denial: V1.Denial(message: V1.LocalizedText(text: "Locked")))
    ).encoded()
    #expect(throws: Never.self) {
      try V1.ExplainEvaluationResponse.decoded(from: bytes, limits: .only { $0.maximumDepth = 4 })
    }
    let error = refusal(of: bytes, as: V1.ExplainEvaluationResponse.self, limits: .only { $0.maximumDepth = 3 })
    #expect(error?.code == .tooComplex)
    #expect(error?.field == "answer.denial.message")
  }

  /// Unbounded, 4 MiB of these take 56 times as much heap.
  @Test func `unknown fields are limited`() throws {
    let unknown = (0..<64).flatMap { _ in Wire.field(100, varint: 1) }
    #expect(try V1.Title.decoded(from: unknown) == V1.Title())
    #expect(refusal(of: unknown + Wire.field(100, varint: 1), as: V1.Title.self)?.code == .tooComplex)
  }

  @Test func `fields are limited: empty submessages`() {
    let bytes = (0..<513).flatMap { _ in Wire.field(4, []) }
    let error = refusal(of: bytes, as: V1.CompleteBindingRequest.self)
    #expect(error == DecodingError(code: .tooComplex, field: "", reason: "has more than 512 fields"))
  }

  @Test func `fields are limited: the same scalar again and again`() {
    let bytes = (0..<513).flatMap { _ in Wire.field(4, varint: 1) }
    #expect(refusal(of: bytes, as: V1.ListBindingsRequest.self)?.code == .tooComplex)
  }

  @Test func `fields are limited: packed numbers count one by one`() throws {
    #expect(try V1.GestureProof.decoded(from: Wire.field(1, [UInt8](repeating: 1, count: 511))).points.count == 511)
    let error = refusal(of: Wire.field(1, [UInt8](repeating: 1, count: 512)), as: V1.GestureProof.self)
    #expect(error?.code == .tooComplex)
    #expect(error?.field == "points")
  }

  @Test func `memory is limited`() {
    let bytes = Wire.field(1, [UInt8](repeating: 1, count: 5_000))
    let error = refusal(of: bytes, as: V1.ProfileTouchID.self, limits: .only { $0.maximumUnpackedBytes = 4_096 })
    #expect(error?.code == .outOfBudget)
  }

  @Test func `a message too long is refused unread`() {
    let error = refusal(
      of: [UInt8](repeating: 0xFF, count: 17), as: V1.Title.self, limits: .only { $0.maximumBytes = 16 })
    #expect(error == DecodingError(code: .outOfBudget, field: "", reason: "message of 17 bytes, at most 16"))
  }

  @Test func `a coder that refused one message reads the next`() throws {
    let coder = MessageCoder(limits: .only { $0.maximumUnpackedBytes = 4_096 })
    let title = try V1.Title(text: "Log in").encoded()
    for _ in 0..<3 {
      #expect(throws: DecodingError.self) {
        try coder.decode(V1.ProfileTouchID.self, from: Wire.field(1, [UInt8](repeating: 1, count: 5_000)))
      }
      #expect(try coder.decode(V1.Title.self, from: title).text == "Log in")
    }
  }
}

@Suite struct RepetitionTests {
  /// protobuf-c would merge the two: it fails where a oneof of the later one is unset, and otherwise loses scalars.
  @Test func `a submessage given twice is refused`() {
    let secret = Wire.field(1, Wire.field(1, "1234"))
    for second in [secret, []] {
      let bytes = Wire.field(3, secret) + Wire.field(3, second)
      let error = refusal(of: bytes, as: V1.SetSecretRequest.self)
      #expect(error == DecodingError(code: .malformed, field: "secret", reason: "is given twice"))
    }
    let posture = Wire.field(4, Wire.field(1, "ios"))
    #expect(refusal(of: posture + posture, as: V1.CanEvaluatePolicyRequest.self)?.field == "posture")
  }

  /// protobuf-c would replace the first, where protobuf merges.
  @Test func `the same message of a oneof given twice is refused`() {
    let key = Wire.field(3, Wire.field(1, [1]))
    #expect(refusal(of: key + key, as: V1.SubmitAttemptRequest.self)?.field == "key")
  }

  @Test func `of different alternatives of a oneof the last one counts`() throws {
    let passcode = Wire.field(5, Wire.field(1, "1234"))
    let gesture = Wire.field(6, Wire.field(1, [0, 1, 2, 4]))
    let request = try V1.SubmitAttemptRequest.decoded(from: passcode + gesture)
    #expect(request.attempt == .gesture(V1.GestureProof(points: [0, 1, 2, 4])))
    let evidence = Wire.field(5, Wire.field(1, "otp")) + Wire.field(4, "jwt")
    #expect(try V1.AcceptDomainStateRequest.decoded(from: evidence).evidence == .token("jwt"))
  }

  @Test func `the same submessage may stand in each element of a list`() throws {
    let event = Wire.field(1, Wire.field(2, Wire.field(1, varint: 5)))
    #expect(try V1.ListEventsResponse.decoded(from: event + event).events.count == 2)
  }

  @Test func `of a scalar or string given twice the last one counts`() throws {
    let bytes = Wire.field(1, "first") + Wire.field(4, varint: 9) + Wire.field(1, "second") + Wire.field(4, varint: 0)
    let request = try V1.ListBindingsRequest.decoded(from: bytes)
    #expect(request == V1.ListBindingsRequest(applicationID: "second"))
  }

  /// protobuf-c keeps both.
  @Test func `of the same map key the last one counts`() throws {
    func entry(_ key: String, _ value: String) -> [UInt8] { Wire.field(9, Wire.field(1, key) + Wire.field(2, value)) }
    let event = try V1.Event.decoded(from: entry("a", "1") + entry("b", "2") + entry("a", "3"))
    #expect(event.details == ["a": "3", "b": "2"])
  }

  @Test func `a map entry may lack its key or its value`() throws {
    #expect(try V1.Event.decoded(from: Wire.field(9, [])).details == ["": ""])
    #expect(try V1.Event.decoded(from: Wire.field(9, Wire.field(2, "v"))).details == ["": "v"])
  }

  @Test func `enum values of a newer peer pass through`() throws {
    let outcome = V1.Outcome(rawValue: 4_711)
    let error = V1.LAError(rawValue: -2_000)
    let response = V1.SubmitAttemptResponse(outcome: outcome, laError: error, nextFactors: [V1.Factor(rawValue: 99)])
    #expect(try V1.SubmitAttemptResponse.decoded(from: response.encoded()) == response)
  }
}
