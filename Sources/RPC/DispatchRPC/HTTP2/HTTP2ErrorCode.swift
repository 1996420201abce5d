// The error codes of RST_STREAM and GOAWAY (RFC 9113 §7).

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
