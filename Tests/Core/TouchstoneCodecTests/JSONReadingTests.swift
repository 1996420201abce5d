import Testing

@testable import TouchstoneCodec

/// JSON that callers send. `CrossCheckTests` reads what Python writes of random messages.
@Suite("JSON as it is read")
struct JSONReadingTests {
  private static func read<Message: WireMessage>(_ json: String, as type: Message.Type) throws -> Message {
    try Message.decoded(fromJSON: Array(json.utf8))
  }

  @Test("A field goes by either of its names, and each kind of value by all of its forms")
  func forms() throws {
    let posture = V1.DevicePosture(
      platform: "ios", biometryType: .touchID, passcodeSet: true, domainState: [0xFF, 0xEF])
    let expected = V1.BeginEvaluationRequest(applicationID: "shop", posture: posture)
    for json in [
      #"{"applicationId":"shop","posture":{"platform":"ios","biometryType":"BIOMETRY_TYPE_TOUCH_ID","passcodeSet":true,"#
        + #""domainState":"/+8="}}"#,
      #" { "application_id" : "s\u0068op" , "posture" : { "platform":"ios", "biometry_type":2, "passcode_set":true, "#
        + #""domain_state":"_-8" } } "#,
      #"{"applicationId":"shop","policy":null,"transaction":null,"posture":{"platform":"ios","biometryType":2.0,"#
        + #""passcodeSet":true,"biometryEnrolled":false,"domainState":"_-8="}}"#,
    ] {
      #expect(try Self.read(json, as: V1.BeginEvaluationRequest.self) == expected)
    }
    #expect(try Self.read("{}", as: V1.BeginEvaluationRequest.self) == V1.BeginEvaluationRequest())
  }

  @Test("Whole numbers may be texts, have a point or an exponent, and reach the ends of their range")
  func numbers() throws {
    for (json, number) in [
      ("0", 0), ("-0", 0), ("1", 1), ("\"1\"", 1), ("1.0", 1), ("100e-2", 1), ("0.1E+1", 1), ("\"1e2\"", 100),
      ("18446744073709551615", .max), ("\"18446744073709551615\"", .max), ("1.8446744073709551615e19", .max),
      ("0e99999999999999", 0), ("0.000", 0), ("10000000000000000000", 10_000_000_000_000_000_000),
    ] as [(String, UInt64)] {
      #expect(try Self.read("{\"sequence\":\(json)}", as: V1.Event.self).sequence == number, "\(json)")
    }
    for json in [
      "-1", "1.5", "1e-1", "18446744073709551616", "1e20", "1e99999999999999999999", "\"\"", "\" 1\"", "\"1 \"",
      "\"01\"", "\"0x1\"", "true", "[]", "NaN", "\"Infinity\"", "1e-99999999999999999999", "\"１\"",
    ] {
      expectFault(
        #"{"sequence":\#(json)}"#, V1.Event.self, "sequence", "must be a whole number from 0 to 18446744073709551615")
    }
    // As long as a number may be, and longer.
    let zeros = String(repeating: "0", count: 62)
    for json in ["1.\(zeros)", "\"1.\(zeros)\""] {
      #expect(try Self.read("{\"sequence\":\(json)}", as: V1.Event.self).sequence == 1)
    }
    for json in ["1.\(zeros)0", "\"1.\(zeros)0\"", "1\(zeros)e-62"] {
      expectFault(
        "{\"sequence\":\(json)}", V1.Event.self, "sequence", "must be a whole number from 0 to 18446744073709551615")
    }
    #expect(try Self.read(#"{"laError":-1004}"#, as: V1.Denial.self).laError == .notInteractive)
    #expect(try Self.read(#"{"laError":77}"#, as: V1.Denial.self).laError == V1.LAError(rawValue: 77))
    expectFault(
      #"{"laError":2147483648}"#, V1.Denial.self, "la_error",
      "must be a whole number from -2147483648 to 2147483647")
  }

  @Test("Times and durations are those of RFC 3339 and of protobuf")
  func times() throws {
    let time = V1.Timestamp(seconds: 1_769_860_800, nanoseconds: 500_000_000)
    for text in ["2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500000000+00:00", "2026-01-31T13:30:00.50+01:30"] {
      #expect(try Self.read(#"{"time":"\#(text)"}"#, as: V1.Event.self).time == time)
    }
    for text in ["2026-01-31", "2026-02-30T12:00:00Z", "2026-01-31t12:00:00z", "", "1769860800"] {
      expectFault(
        #"{"time":"\#(text)"}"#, V1.Event.self, "time", "must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z")
    }
    for (text, duration) in [
      ("1s", V1.Duration(seconds: 1)), ("1.5s", V1.Duration(seconds: 1, nanoseconds: 500_000_000)),
      ("0s", V1.Duration()), ("-0.000000001s", V1.Duration(nanoseconds: -1)),
      ("315576000000s", V1.Duration(seconds: 315_576_000_000)),
    ] {
      #expect(try Self.read(#"{"retryAfter":"\#(text)"}"#, as: V1.Denial.self).retryAfter == duration)
    }
    for text in ["1", "s", "1.s", ".5s", "+1s", "1.0000000001s", "315576000001s", "1e3s", "--1s", "1.5.5s", ""] {
      expectFault(
        #"{"retryAfter":"\#(text)"}"#, V1.Denial.self, "retry_after", "must be seconds with the letter s, such as 1.5s")
    }
  }

  @Test("Lists and maps keep their elements")
  func collections() throws {
    let event = try Self.read(#"{"details":{"a":"b","\u0063":"","":"d"}}"#, as: V1.Event.self)
    #expect(event.details == ["a": "b", "c": "", "": "d"])
    #expect(try Self.read(#"{"points":[1,2,"3"]}"#, as: V1.GestureProof.self).points == [1, 2, 3])
    let response = try Self.read(#"{"nextFactors":["FACTOR_PASSCODE",4]}"#, as: V1.SubmitAttemptResponse.self)
    #expect(response.nextFactors == [.passcode, .gesture])
    #expect(try Self.read(#"{"filter":{"kinds":[]}}"#, as: V1.ListEventsRequest.self).filter == V1.EventFilter())
  }

  @Test("A oneof's field is there even if it is empty, and absent if it is null")
  func oneOfs() throws {
    let request = try Self.read(#"{"passcode":{},"gesture":null}"#, as: V1.SubmitAttemptRequest.self)
    #expect(request.attempt == .passcode(V1.PasscodeProof()))
    #expect(try Self.read(#"{"passcode":null}"#, as: V1.SubmitAttemptRequest.self).attempt == nil)
  }

  @Test(
    "Each fault names its field",
    arguments: [
      (#"{"polici":"a"}"#, "polici", "is no field of touchstone.v1.BeginEvaluationRequest"),
      (#"{"Policy":"a"}"#, "Policy", "is no field of touchstone.v1.BeginEvaluationRequest"),
      (#"{"posture":{"osversion":"1"}}"#, "posture.osversion", "is no field of touchstone.v1.DevicePosture"),
      (#"{"policy":"a","policy":"a"}"#, "policy", "is given twice"),
      (#"{"bindingId":"a","binding_id":"a"}"#, "binding_id", "is given twice"),
      (#"{"policy":null,"policy":"a"}"#, "policy", "is given twice"),
      (#"{"policy":1}"#, "policy", "must be a text"),
      (#"{"policy":[["a"]]}"#, "policy", "must be a text"),
      (#"{"posture":[]}"#, "posture", "must be an object"),
      (#"{"posture":"a"}"#, "posture", "must be an object"),
      (#"{"posture":{"passcodeSet":"true"}}"#, "posture.passcode_set", "must be true or false"),
      (#"{"posture":{"passcodeSet":1}}"#, "posture.passcode_set", "must be true or false"),
      (
        #"{"posture":{"biometryType":"TOUCH_ID"}}"#, "posture.biometry_type",
        "must be a name or number of touchstone.v1.BiometryType"
      ),
      (#"{"posture":{"domainState":"a"}}"#, "posture.domain_state", "must be a text in Base64"),
      (#"{"posture":{"domainState":"+_=="}}"#, "posture.domain_state", "must be a text in Base64"),
      (#"{"posture":{"domainState":[1]}}"#, "posture.domain_state", "must be a text in Base64"),
      (#"{"policy":"\ud800"}"#, "policy", "is not JSON: half a surrogate pair"),
      (#"{"policy":"a"#, "policy", "is not JSON: a string does not end"),
      (#"{"policy":"a\u0000"}"#, "policy", "must not contain NUL"),
      (#"{"policy":"a""#, "", #"is not JSON: a comma or "}" is missing"#),
      (#"{"policy" "a"}"#, "", "is not JSON: a colon is missing"),
      (#"{"policy":"a",}"#, "", "is not JSON: a name is missing"),
      (#"{policy:"a"}"#, "", "is not JSON: a name is missing"),
      ("{}{}", "", "has bytes after its end"), ("", "", "must be an object"), ("[]", "", "must be an object"),
      ("null", "", "must be an object"), ("\u{FEFF}{}", "", "must be an object"),
    ])
  func faults(json: String, field: String, reason: String) {
    expectFault(json, V1.BeginEvaluationRequest.self, field, reason)
  }

  @Test("Places in lists and maps are named, too")
  func places() {
    expectFault(
      #"{"keys":[{},{"signature":"!"}]}"#, V1.CompleteBindingRequest.self, "keys[1].signature",
      "must be a text in Base64")
    // K and the Kelvin sign are equal as Swift's texts.
    expectFault(
      #"{"keys":[{"public\#u{212A}ey":""}]}"#, V1.CompleteBindingRequest.self, "keys[0].public\u{212A}ey",
      "is no field of touchstone.v1.HardwareKey")
    expectFault(#"{"keys":[null]}"#, V1.CompleteBindingRequest.self, "keys[0]", "must be an object")
    expectFault(#"{"keys":{}}"#, V1.CompleteBindingRequest.self, "keys", "must be a list")
    expectFault(#"{"details":{"a":null}}"#, V1.Event.self, "details.a", "must be a text")
    expectFault(#"{"details":{"a":"","\u0061":""}}"#, V1.Event.self, "details.a", "is given twice")
    expectFault(#"{"details":[]}"#, V1.Event.self, "details", "must be an object")
    expectFault(
      #"{"passcode":{},"gesture":{}}"#, V1.SubmitAttemptRequest.self, "gesture",
      "is one of several fields of which a message has one alone")
  }

  @Test("Invalid UTF-8 is refused in values and in names")
  func utf8() {
    for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]] {
      #expect(throws: DecodingError(code: .malformed, field: "policy", reason: "is not JSON: not UTF-8")) {
        try V1.BeginEvaluationRequest.decoded(fromJSON: Array(#"{"policy":""#.utf8) + bytes + Array(#""}"#.utf8))
      }
      #expect(throws: DecodingError.self) {
        try V1.BeginEvaluationRequest.decoded(fromJSON: Array("{\"".utf8) + bytes + Array("\":1}".utf8))
      }
    }
  }

  @Test("Depth, fields and size have bounds")
  func bounds() {
    let deep = String(repeating: #"{"posture":"#, count: 10_000)
    expectFault(deep, V1.BeginEvaluationRequest.self, "posture.posture", "is no field of touchstone.v1.DevicePosture")
    expectFault(
      String(repeating: "[", count: 10_000), V1.BeginEvaluationRequest.self, "", "must be an object")
    let many = #"{"points":[\#(Array(repeating: "1", count: 600).joined(separator: ","))]}"#
    expectFault(many, V1.GestureProof.self, "points", "has more than 512 fields", .tooComplex)
    let long = String(repeating: "a", count: 70_000)
    #expect(throws: DecodingError(code: .outOfBudget, field: "", reason: "message of 70004 bytes, at most 65536")) {
      try Self.read(#"{"policy":"\#(long)"}"#, as: V1.BeginEvaluationRequest.self)
    }
    // An unknown name is not shown in full.
    #expect(throws: DecodingError.self) { try Self.read("{\"\(long)\":1}", as: V1.BeginEvaluationRequest.self) }
    do {
      _ = try Self.read("{\"\(long)\":1}", as: V1.BeginEvaluationRequest.self)
    } catch let error as DecodingError {
      #expect(error.field.utf8.count == 64)
    } catch {
      Issue.record(error)
    }
  }

  private func expectFault<Message: WireMessage>(
    _ json: String, _ type: Message.Type, _ field: String, _ reason: String, _ code: DecodingError.Code? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: DecodingError.self, "\(json.prefix(100))", sourceLocation: sourceLocation) {
      try Self.read(json, as: type)
    }
    #expect(error?.field == field, sourceLocation: sourceLocation)
    #expect(error?.reason == reason, sourceLocation: sourceLocation)
    if let code { #expect(error?.code == code, sourceLocation: sourceLocation) }
  }
}

/// `JSONMethod`: what callers by HTTP use.
@Suite("Methods as JSON")
struct JSONMethodTests {
  @Test("Every unary method is there once, and no stream")
  func all() {
    let unary = MethodDescriptor.all.filter { $0.kind == .unary }.map(\.path)
    #expect(JSONMethod.all.map(\.path) == unary && !unary.isEmpty)
  }

  @Test("A request becomes the bytes that gRPC's clients send, and the answer's bytes become JSON")
  func way() throws {
    let method = try #require(JSONMethod.all.first { $0.path == V1.EvaluationService.beginEvaluation.path })
    let bytes = try method.request(Array(#"{"applicationId":"shop","policy":"login"}"#.utf8))
    #expect(bytes == (try V1.BeginEvaluationRequest(applicationID: "shop", policy: "login").encoded()))
    let answer = try V1.BeginEvaluationResponse(signingInput: [1]).encoded()
    #expect(try method.response(answer) == Array(#"{"signingInput":"AQ=="}"#.utf8))
  }

  @Test("Details of an error have their type's name, their bytes, and JSON if the type is known")
  func details() throws {
    let info = RPCDetail.ErrorInfo(reason: "A", domain: "touchstone")
    let unknown = RPCDetail.AnyMessage(typeURL: "type.example/a.B", value: [1])
    let status = RPCDetail.Status(code: 9, message: "m", details: [.errorInfo(info), .other(unknown)])
    let details = JSONDetail.all(ofStatus: try status.encoded())
    #expect(details.map(\.type) == ["google.rpc.ErrorInfo", "a.B"])
    #expect(details.map(\.bytes) == [try info.encoded(), [1]])
    #expect(details.map(\.json) == [#"{"reason":"A","domain":"touchstone"}"#, nil])
    #expect(JSONDetail.all(ofStatus: [0xFF]).isEmpty && JSONDetail.all(ofStatus: []).isEmpty)
  }
}
