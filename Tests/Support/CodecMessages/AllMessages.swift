// Every message type of the codec, for tests that hold for all of them. The cross-check with Python fails where one of
// the .proto files' types is missing.

public import TouchstoneCodec

/// A message type, with what a test does to it without knowing which it is.
public struct AnyMessageType: Sendable, CustomStringConvertible {
  public let name: String
  /// Decodes, describes what is in the properties, and encodes anew, also as JSON.
  public let roundTrip: @Sendable ([UInt8], MessageCoder) throws -> (description: String, bytes: [UInt8], json: String)
  /// Reads JSON, and describes what is in the properties; also as JSON again.
  public let readJSON: @Sendable ([UInt8]) throws -> (description: String, json: String)

  public init<Message: WireMessage>(_ type: Message.Type) {
    name = type.fullName
    roundTrip = { bytes, coder in
      let message = try coder.decode(Message.self, from: bytes)
      return (describe(message), try coder.encode(message), try coder.json(of: message))
    }
    readJSON = { json in
      let message = try Message.decoded(fromJSON: json, limits: .answers)
      return (describe(message), try message.json())
    }
  }

  public var description: String { name }
}

extension AnyMessageType {
  public static let all = MessageTypes.all.map { AnyMessageType($0) }
}
