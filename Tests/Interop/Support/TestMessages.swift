// The messages of grpc.testing.TestService, with the names and numbers of grpc/grpc
// src/proto/grpc/testing/messages.proto. Fields that only Google's cloud fills are left out.

public struct Empty: WireMessage {
  public init() {}
  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {}
  public func write(to writer: inout WireWriter) {}
}

public struct BoolValue: WireMessage {
  public var value = false

  public init() {}
  public init(_ value: Bool) { self.value = value }

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    if field == 1 { self.value = try value.bool() }
  }

  public func write(to writer: inout WireWriter) { writer.bool(1, value) }
}

/// Its type is COMPRESSABLE, the only one there is.
public struct Payload: WireMessage {
  public var body: [UInt8] = []

  public init() {}
  public init(zeros count: Int) { body = [UInt8](repeating: 0, count: count) }
  public init(_ text: String) { body = Array(text.utf8) }

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    if field == 2 { body = Array(try value.bytes()) }
  }

  public func write(to writer: inout WireWriter) { writer.bytes(2, body) }
}

/// The status that the server is to answer with.
public struct EchoStatus: WireMessage {
  public var code: Int32 = 0
  public var message = ""

  public init() {}
  public init(code: Int32, message: String) { (self.code, self.message) = (code, message) }

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    switch field {
    case 1: code = try value.int32()
    case 2: message = try value.string()
    default: break
    }
  }

  public func write(to writer: inout WireWriter) {
    writer.int32(1, code)
    writer.string(2, message)
  }
}

public struct SimpleRequest: WireMessage {
  public var responseSize: Int32 = 0
  public var payload: Payload?
  public var responseStatus: EchoStatus?
  public var expectCompressed: BoolValue?
  public var fillServerID = false

  public init() {}

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    switch field {
    case 2: responseSize = try value.int32()
    case 3: payload = try value.message()
    case 7: responseStatus = try value.message()
    case 8: expectCompressed = try value.message()
    case 9: fillServerID = try value.bool()
    default: break
    }
  }

  public func write(to writer: inout WireWriter) {
    writer.int32(2, responseSize)
    writer.message(3, payload)
    writer.message(7, responseStatus)
    writer.message(8, expectCompressed)
    writer.bool(9, fillServerID)
  }
}

public struct SimpleResponse: WireMessage {
  public var payload: Payload?
  public var serverID = ""

  public init() {}

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    switch field {
    case 1: payload = try value.message()
    case 4: serverID = try value.string()
    default: break
    }
  }

  public func write(to writer: inout WireWriter) {
    writer.message(1, payload)
    writer.string(4, serverID)
  }
}

public struct StreamingInputCallRequest: WireMessage {
  public var payload: Payload?
  public var expectCompressed: BoolValue?

  public init() {}

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    switch field {
    case 1: payload = try value.message()
    case 2: expectCompressed = try value.message()
    default: break
    }
  }

  public func write(to writer: inout WireWriter) {
    writer.message(1, payload)
    writer.message(2, expectCompressed)
  }
}

public struct StreamingInputCallResponse: WireMessage {
  public var aggregatedPayloadSize: Int32 = 0

  public init() {}

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    if field == 1 { aggregatedPayloadSize = try value.int32() }
  }

  public func write(to writer: inout WireWriter) { writer.int32(1, aggregatedPayloadSize) }
}

/// One response that a stream is to bring.
public struct ResponseParameters: WireMessage {
  public var size: Int32 = 0
  public var intervalMicroseconds: Int32 = 0

  public init() {}
  public init(size: Int32) { self.size = size }

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    switch field {
    case 1: size = try value.int32()
    case 2: intervalMicroseconds = try value.int32()
    default: break
    }
  }

  public func write(to writer: inout WireWriter) {
    writer.int32(1, size)
    writer.int32(2, intervalMicroseconds)
  }
}

public struct StreamingOutputCallRequest: WireMessage {
  public var responseParameters: [ResponseParameters] = []
  public var payload: Payload?
  public var responseStatus: EchoStatus?

  public init() {}

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    switch field {
    case 2: responseParameters.append(try value.message())
    case 3: payload = try value.message()
    case 7: responseStatus = try value.message()
    default: break
    }
  }

  public func write(to writer: inout WireWriter) {
    for parameters in responseParameters { writer.message(2, parameters) }
    writer.message(3, payload)
    writer.message(7, responseStatus)
  }
}

public struct StreamingOutputCallResponse: WireMessage {
  public var payload: Payload?

  public init() {}

  public mutating func take(_ field: Int, _ value: WireValue) throws(MalformedMessage) {
    if field == 1 { payload = try value.message() }
  }

  public func write(to writer: inout WireWriter) { writer.message(1, payload) }
}
