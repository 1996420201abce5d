/// Follows the header blocks that continue beyond their first frame, in place, and rewrites each value of more than 64
/// KiB (RFC 7541 §6), which nghttp2 does not read. Pure.
///
/// nghttp2 ends a connection at such a value, with all calls on it. A client library that passes on too much metadata
/// would so hurt other calls; the limit of a header list refuses the one call. Both sides' compression state stays the
/// same: an entry that is larger than the dynamic table empties it (RFC 7541 §4.4), and the shortened value is larger,
/// too. The frames keep their lengths: the bytes that are cut off become literal fields of their own. Names of that
/// length, and values of 2 MiB or more, are left to nghttp2, which ends the connection.
struct LongFieldFilter {
  /// nghttp2's NGHTTP2_HD_MAX_NV.
  private static let longestValueBytes = 65_536
  /// What one step of a length's third byte stands for (RFC 7541 §5.1).
  private static let stepBytes = 1 << 14
  /// The third byte of a length between 32,895 and 49,278 bytes: a value beyond every list limit and table, within
  /// nghttp2's bound.
  private static let shortenedThirdByte = 2
  /// The start of a literal field without indexing, with a name of the static table (16) and a value of 16,379 bytes:
  /// `stepBytes` in all.
  private static let fieldStart: [UInt8] = [0x0F, 0x01, 0x7F, 0xFC, 0x7E]
  private static let priorityBytes = 5
  private static let byteWithMore: UInt8 = 0x80
  /// Seven bits each; the fourth would be of a length of 2 MiB or more.
  private static let longestLengthBytes = 3

  private enum State {
    case fieldBegins
    /// An integer whose value does not matter goes on.
    case index(then: Next)
    case length(of: Part)
    case lengthGoesOn(of: Part, isHuffman: Bool, value: Int, count: Int)
    case text(left: Int, of: Part)
    /// A shortened value, and the bytes that are cut off behind it.
    case shortened(left: Int, huffmanEnd: UInt8?, cut: Int)
    case cut(left: Int)
  }

  private enum Next {
    case field
    case value
  }

  private enum Part {
    case name
    case value
  }

  private var state = State.fieldBegins
  /// A block goes on.
  private(set) var isActive = false
  private var isLastFrame = false

  /// A frame's header came. Frames with padding are passed over: no honest client pads a block that is too long
  /// already.
  mutating func frameBegan(_ header: FrameScanner.Header) {
    switch HTTP2FrameType(rawValue: header.type) {
    case .headers:
      isActive = header.flags & (HTTP2Flags.endHeaders | HTTP2Flags.padded) == 0
      isLastFrame = false
      // The priority comes first (RFC 9113 §6.2).
      state = header.flags & HTTP2Flags.priority == 0 ? .fieldBegins : Self.text(of: Self.priorityBytes, .value)
    case .continuation where isActive:
      isLastFrame = header.flags & HTTP2Flags.endHeaders != 0
    default:
      isActive = false
    }
  }

  /// Bytes of that frame's payload.
  mutating func rewrite(_ bytes: UnsafeMutableRawBufferPointer, isFrameComplete: Bool) {
    var offset = 0
    while offset < bytes.count, isActive { step(bytes, &offset) }
    if isFrameComplete, isLastFrame { isActive = false }
  }

  private mutating func step(_ bytes: UnsafeMutableRawBufferPointer, _ offset: inout Int) {
    switch state {
    case .text(let left, let part):
      let count = min(left, bytes.count - offset)
      offset += count
      state = left > count ? .text(left: left - count, of: part) : part == .name ? .length(of: .value) : .fieldBegins
    case .shortened(let left, let huffmanEnd, let cut):
      // A Huffman text must end well: zeros are the code of "0", and ones fill the last byte.
      if let huffmanEnd { bytes[offset] = left == 1 ? huffmanEnd : 0 }
      offset += 1
      state = left > 1 ? .shortened(left: left - 1, huffmanEnd: huffmanEnd, cut: cut) : .cut(left: cut)
    case .cut(let left):
      let position = (Self.stepBytes - left % Self.stepBytes) % Self.stepBytes
      bytes[offset] = position < Self.fieldStart.count ? Self.fieldStart[position] : UInt8(ascii: "x")
      offset += 1
      state = left > 1 ? .cut(left: left - 1) : .fieldBegins
    default:
      readByte(&bytes[offset])
      offset += 1
    }
  }

  private mutating func readByte(_ byte: inout UInt8) {
    switch state {
    case .fieldBegins: state = Self.field(beginningWith: byte)
    case .index(let next):
      if byte & Self.byteWithMore == 0 { state = next == .field ? .fieldBegins : .length(of: .value) }
    case .length(let part):
      let isHuffman = byte & 0x80 != 0
      let value = Int(byte & 0x7F)
      if value == 0x7F {
        state = .lengthGoesOn(of: part, isHuffman: isHuffman, value: value, count: 0)
      } else {
        state = Self.text(of: value, part)
      }
    case .lengthGoesOn(let part, let isHuffman, let value, let count):
      lengthGoesOn(&byte, part, isHuffman, value, count)
    case .text, .shortened, .cut: break
    }
  }

  private mutating func lengthGoesOn(_ byte: inout UInt8, _ part: Part, _ isHuffman: Bool, _ value: Int, _ count: Int) {
    let length = value + Int(byte & 0x7F) << (7 * count)
    if byte & Self.byteWithMore != 0 {
      guard count + 1 < Self.longestLengthBytes else {
        isActive = false
        return
      }
      state = .lengthGoesOn(of: part, isHuffman: isHuffman, value: length, count: count + 1)
    } else if length <= Self.longestValueBytes {
      state = Self.text(of: length, part)
    } else if part == .name {
      isActive = false
    } else {
      let cut = (Int(byte) - Self.shortenedThirdByte) * Self.stepBytes
      let left = length - cut
      byte = UInt8(Self.shortenedThirdByte)
      state = .shortened(left: left, huffmanEnd: isHuffman ? UInt8(1 << (left * 8 % 5)) - 1 : nil, cut: cut)
    }
  }

  /// RFC 7541 §6.1 to §6.3.
  private static func field(beginningWith byte: UInt8) -> State {
    if byte & 0x80 != 0 { return byte & 0x7F == 0x7F ? .index(then: .field) : .fieldBegins }
    if byte & 0x40 != 0 { return literal(index: byte & 0x3F, longest: 0x3F) }
    if byte & 0x20 != 0 { return byte & 0x1F == 0x1F ? .index(then: .field) : .fieldBegins }
    return literal(index: byte & 0x0F, longest: 0x0F)
  }

  private static func literal(index: UInt8, longest: UInt8) -> State {
    switch index {
    case 0: .length(of: .name)
    case longest: .index(then: .value)
    default: .length(of: .value)
    }
  }

  private static func text(of length: Int, _ part: Part) -> State {
    length > 0 ? .text(left: length, of: part) : part == .name ? .length(of: .value) : .fieldBegins
  }
}
