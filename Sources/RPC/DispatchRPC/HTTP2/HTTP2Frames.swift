// The parts of frames that we look at ourselves (RFC 9113 §6, §7): types, flags, error codes, SETTINGS.

import CNGHTTP2

struct HTTP2FrameType: RawRepresentable, Hashable, Sendable {
  let rawValue: UInt8

  static let data = HTTP2FrameType(rawValue: 0x0)
  static let headers = HTTP2FrameType(rawValue: 0x1)
  static let priority = HTTP2FrameType(rawValue: 0x2)
  static let resetStream = HTTP2FrameType(rawValue: 0x3)
  static let settings = HTTP2FrameType(rawValue: 0x4)
  static let ping = HTTP2FrameType(rawValue: 0x6)
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

struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
  let rawValue: UInt32

  static let noError = HTTP2ErrorCode(rawValue: 0x0)
  static let protocolError = HTTP2ErrorCode(rawValue: 0x1)
  static let internalError = HTTP2ErrorCode(rawValue: 0x2)
  static let flowControlError = HTTP2ErrorCode(rawValue: 0x3)
  static let settingsTimeout = HTTP2ErrorCode(rawValue: 0x4)
  static let streamClosed = HTTP2ErrorCode(rawValue: 0x5)
  static let frameSizeError = HTTP2ErrorCode(rawValue: 0x6)
  static let refusedStream = HTTP2ErrorCode(rawValue: 0x7)
  static let cancel = HTTP2ErrorCode(rawValue: 0x8)
  static let compressionError = HTTP2ErrorCode(rawValue: 0x9)
  static let connectError = HTTP2ErrorCode(rawValue: 0xA)
  static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 0xB)
  static let inadequateSecurity = HTTP2ErrorCode(rawValue: 0xC)
}

/// Changes the values in a SETTINGS frame of ours on its way out, if nghttp2 itself must use others. A whole SETTINGS
/// frame as nghttp2 wrote it (RFC 9113 §6.5).
enum HTTP2SettingsFrame {
  private static let headerBytes = 9
  /// In the header.
  private static let typeOffset = 3
  /// A setting's identifier, and after it the value.
  private static let identifierBytes = 2
  private static let entryBytes = 6

  /// Traps where the frame is none that has the setting: then the mistake is ours.
  static func set(_ setting: nghttp2_settings_id, to value: UInt32, in frame: UnsafeMutableRawBufferPointer) {
    precondition(
      frame.count >= headerBytes && HTTP2FrameType(rawValue: frame[typeOffset]) == .settings,
      "a session's first frame is SETTINGS")
    let entry = stride(from: headerBytes, to: frame.count, by: entryBytes).first {
      UInt32(frame[$0]) << 8 | UInt32(frame[$0 + 1]) == setting.rawValue
    }
    guard let entry else { preconditionFailure("the setting is among those submitted") }
    frame.storeBytes(of: value.bigEndian, toByteOffset: entry + identifierBytes, as: UInt32.self)
  }
}
