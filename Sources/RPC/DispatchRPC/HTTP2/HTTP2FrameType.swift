// The types of frames and their flags, as far as we look at them ourselves (RFC 9113 §6).

struct HTTP2FrameType: RawRepresentable, Hashable, Sendable {
  let rawValue: UInt8

  static let data = HTTP2FrameType(rawValue: 0x0)
  static let headers = HTTP2FrameType(rawValue: 0x1)
  static let priority = HTTP2FrameType(rawValue: 0x2)
  static let resetStream = HTTP2FrameType(rawValue: 0x3)
  static let settings = HTTP2FrameType(rawValue: 0x4)
  static let ping = HTTP2FrameType(rawValue: 0x6)
  static let goaway = HTTP2FrameType(rawValue: 0x7)
  static let windowUpdate = HTTP2FrameType(rawValue: 0x8)
  static let continuation = HTTP2FrameType(rawValue: 0x9)

  /// RFC 9113 has it; frames of other types are to be ignored (§5.5).
  var isKnown: Bool { rawValue <= Self.continuation.rawValue }
}

enum HTTP2Flags {
  static let acknowledgement: UInt8 = 0x1
  static let endStream: UInt8 = 0x1
  static let endHeaders: UInt8 = 0x4
  static let padded: UInt8 = 0x8
  static let priority: UInt8 = 0x20
}
