// Changes the values in a SETTINGS frame of ours on its way out, if nghttp2 itself must use others.

import CNGHTTP2

/// A whole SETTINGS frame as nghttp2 wrote it (RFC 9113 §6.5).
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
