// The messages of grpc.testing.TestService, with the names and numbers of grpc/grpc
// src/proto/grpc/testing/messages.proto. Fields that only Google's cloud fills are left out.

public struct Empty: WireMessage {
  public init() {}
  public static var fields: [WireField<Self>] { [] }
}

public struct BoolValue: WireMessage {
  public var value = false

  public init() {}

  public static var fields: [WireField<Self>] { [.bool(1, \.value)] }
}

/// Its type is COMPRESSABLE, the only one there is.
public struct Payload: WireMessage {
  public var body: [UInt8] = []

  public init() {}
  public init(zeros count: Int) { body = [UInt8](repeating: 0, count: count) }
  public init(_ text: String) { body = Array(text.utf8) }

  public static var fields: [WireField<Self>] { [.bytes(2, \.body)] }
}

/// The status that the server is to answer with.
public struct EchoStatus: WireMessage {
  public var code: Int32 = 0
  public var message = ""

  public init() {}
  public init(code: Int32, message: String) { (self.code, self.message) = (code, message) }

  public static var fields: [WireField<Self>] { [.int32(1, \.code), .string(2, \.message)] }
}

public struct SimpleRequest: WireMessage {
  public var responseSize: Int32 = 0
  public var payload: Payload?
  public var responseStatus: EchoStatus?
  public var expectCompressed: BoolValue?
  public var fillServerID = false

  public init() {}

  public static var fields: [WireField<Self>] {
    [
      .int32(2, \.responseSize), .message(3, \.payload), .message(7, \.responseStatus),
      .message(8, \.expectCompressed), .bool(9, \.fillServerID),
    ]
  }
}

public struct SimpleResponse: WireMessage {
  public var payload: Payload?
  public var serverID = ""

  public init() {}

  public static var fields: [WireField<Self>] { [.message(1, \.payload), .string(4, \.serverID)] }
}

public struct StreamingInputCallRequest: WireMessage {
  public var payload: Payload?
  public var expectCompressed: BoolValue?

  public init() {}

  public static var fields: [WireField<Self>] { [.message(1, \.payload), .message(2, \.expectCompressed)] }
}

public struct StreamingInputCallResponse: WireMessage {
  public var aggregatedPayloadSize: Int32 = 0

  public init() {}

  public static var fields: [WireField<Self>] { [.int32(1, \.aggregatedPayloadSize)] }
}

/// One response that a stream is to bring.
public struct ResponseParameters: WireMessage {
  public var size: Int32 = 0
  public var intervalMicroseconds: Int32 = 0

  public init() {}
  public init(size: Int32) { self.size = size }

  public static var fields: [WireField<Self>] {
    [.int32(1, \.size), .int32(2, \.intervalMicroseconds)]
  }
}

public struct StreamingOutputCallRequest: WireMessage {
  public var responseParameters: [ResponseParameters] = []
  public var payload: Payload?
  public var responseStatus: EchoStatus?

  public init() {}

  public static var fields: [WireField<Self>] {
    [.messages(2, \.responseParameters), .message(3, \.payload), .message(7, \.responseStatus)]
  }
}

public struct StreamingOutputCallResponse: WireMessage {
  public var payload: Payload?

  public init() {}

  public static var fields: [WireField<Self>] { [.message(1, \.payload)] }
}
