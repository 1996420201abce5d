/// The members of one JSON object, found by name without making values of them. Names and texts with escapes are found
/// by none.
struct FlatJSON {
  private let bytes: [UInt8]
  private var members: [(name: Range<Int>, value: Range<Int>)] = []

  /// A token has about ten.
  private static let usualCount = 16
  /// Deeper values are refused.
  private static let maximumDepth = 8

  /// `nil` unless the bytes are one object and nothing after it. White space is not accepted: tokens have none.
  init?(_ bytes: [UInt8]) {
    self.bytes = bytes
    var position = 0
    members.reserveCapacity(Self.usualCount)
    guard readObject(&position, depth: 0), position == bytes.count else { return nil }
  }

  subscript(name: StaticString) -> Range<Int>? {
    name.withUTF8Buffer { name in
      members.first { $0.name.count == name.count && bytes[$0.name].elementsEqual(name) }?.value
    }
  }

  /// - Parameter suffix: the end of the text.
  func isText(_ name: StaticString, _ text: String, _ suffix: String = "") -> Bool {
    guard let value = self[name], bytes[value.lowerBound] == UInt8(ascii: "\"") else { return false }
    let content = bytes[value.lowerBound + 1..<value.upperBound - 1]
    let count = text.utf8.count
    return content.count == count + suffix.utf8.count && content.prefix(count).elementsEqual(text.utf8)
      && content.dropFirst(count).elementsEqual(suffix.utf8)
  }

  func isLiteral(_ name: StaticString, _ literal: String) -> Bool {
    self[name].map { bytes[$0].elementsEqual(literal.utf8) } ?? false
  }

  func text(_ name: StaticString) -> String? {
    guard let value = self[name], bytes[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
    return String(decoding: bytes[value.lowerBound + 1..<value.upperBound - 1], as: UTF8.self)
  }

  func integer(_ name: StaticString) -> Int64? {
    self[name].flatMap { Int64(String(decoding: bytes[$0], as: UTF8.self)) }
  }

  // MARK: Reading

  /// The outermost object's members are kept.
  private mutating func readObject(_ position: inout Int, depth: Int) -> Bool {
    guard depth < Self.maximumDepth, take("{", &position) else { return false }
    if take("}", &position) { return true }
    repeat {
      let name = position
      guard skipText(&position), take(":", &position) else { return false }
      let value = position
      guard skipValue(&position, depth: depth) else { return false }
      if depth == 0 { members.append((name + 1..<value - 2, value..<position)) }
    } while take(",", &position)
    return take("}", &position)
  }

  private mutating func skipValue(_ position: inout Int, depth: Int) -> Bool {
    guard position < bytes.count else { return false }
    switch bytes[position] {
    case UInt8(ascii: "\""): return skipText(&position)
    case UInt8(ascii: "{"): return readObject(&position, depth: depth + 1)
    case UInt8(ascii: "["): return skipList(&position, depth: depth + 1)
    default:
      let start = position
      while position < bytes.count, Self.isOfWord(bytes[position]) { position += 1 }
      return position > start
    }
  }

  private mutating func skipList(_ position: inout Int, depth: Int) -> Bool {
    guard depth < Self.maximumDepth, take("[", &position) else { return false }
    if take("]", &position) { return true }
    repeat {
      guard skipValue(&position, depth: depth) else { return false }
    } while take(",", &position)
    return take("]", &position)
  }

  private func skipText(_ position: inout Int) -> Bool {
    guard take("\"", &position) else { return false }
    while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
      position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    return take("\"", &position)
  }

  /// Numbers, true, false and null consist of such bytes.
  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"): true
    default: false
    }
  }

  private func take(_ character: Unicode.Scalar, _ position: inout Int) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }
}
