/// Reads CBOR from a peer: bounded in depth and in the number of items. Strings and arrays may be of indefinite length,
/// as some authenticators send them, unless CTAP2's canonical form is asked for.
package struct CBORReader {
  /// An attestation object nests five deep; its extensions may add some.
  private static let maximumDepth = 16
  /// An item takes a byte at least and some 40 in memory: this bounds what one proof takes to 400 KB.
  private static let maximumItems = 10_000

  package enum Form: Sendable {
    case wellFormed
    /// CTAP 2.1 §8: the shortest heads, no indefinite lengths, tags and floating-point numbers, and names of maps that
    /// are integers or texts in their order. An item has one encoding.
    case ctap2Canonical
  }

  private let bytes: [UInt8]
  private let form: Form
  package private(set) var position: Int
  private var items = 0

  package init(_ bytes: [UInt8], at position: Int = 0, as form: Form = .wellFormed) {
    self.bytes = bytes
    self.form = form
    self.position = position
  }

  /// One item that takes all bytes.
  package static func read(_ bytes: [UInt8], as form: Form = .wellFormed) throws(ProofError) -> CBOR {
    var reader = CBORReader(bytes, as: form)
    let item = try reader.next()
    guard reader.position == bytes.count else {
      throw malformed("\(bytes.count - reader.position) bytes after its end")
    }
    return item
  }

  /// The next item, whatever comes after it.
  package mutating func next() throws(ProofError) -> CBOR {
    try item(depth: 0)
  }

  private enum Head {
    case definite(major: UInt8, argument: UInt64, additional: UInt8)
    case indefinite(major: UInt8)
  }

  private mutating func item(depth: Int) throws(ProofError) -> CBOR {
    guard depth < Self.maximumDepth else { throw Self.malformed("nested deeper than \(Self.maximumDepth)") }
    items += 1
    guard items <= Self.maximumItems else { throw Self.malformed("more than \(Self.maximumItems) items") }
    switch try head() {
    case .definite(let major, let argument, let additional):
      return try definite(major, argument, additional, depth)
    case .indefinite(let major):
      return try indefinite(major, depth)
    }
  }

  private mutating func definite(
    _ major: UInt8, _ argument: UInt64, _ additional: UInt8, _ depth: Int
  ) throws(ProofError) -> CBOR {
    switch major {
    case 0: return .unsigned(argument)
    case 1: return .negative(argument)
    case 2: return .bytes(try take(argument))
    case 3: return .text(try text(argument))
    case 4:
      var array: [CBOR] = []
      for _ in 0..<(try itemCount(argument)) { array.append(try item(depth: depth + 1)) }
      return .array(array)
    case 5:
      var map = CBORMap()
      var last: ArraySlice<UInt8>?
      for _ in 0..<(try itemCount(argument)) {
        let name = try member(&map, depth)
        if form == .ctap2Canonical { try Self.check(name, after: last) }
        last = name
      }
      return .map(map)
    case 6:
      guard form == .wellFormed else { throw Self.malformed("a tag") }
      return .tagged(argument, try item(depth: depth + 1))
    default:
      guard form == .wellFormed || additional < 25 else { throw Self.malformed("a floating-point number") }
      switch additional {
      case 20: return .boolean(false)
      case 21: return .boolean(true)
      // A simple value below 32 has no second byte.
      case 24 where argument < 32: throw Self.malformed("simple value \(argument) in two bytes")
      default: return .simple(argument)
      }
    }
  }

  private mutating func indefinite(_ major: UInt8, _ depth: Int) throws(ProofError) -> CBOR {
    switch major {
    case 2:
      var whole: [UInt8] = []
      while try !takeBreak() {
        guard case .definite(2, let count, _) = try head() else { throw Self.malformed("a chunk of another type") }
        whole += try take(count)
        try countChunk()
      }
      return .bytes(whole)
    case 3:
      var whole = ""
      while try !takeBreak() {
        guard case .definite(3, let count, _) = try head() else { throw Self.malformed("a chunk of another type") }
        whole += try text(count)
        try countChunk()
      }
      return .text(whole)
    case 4:
      var array: [CBOR] = []
      while try !takeBreak() { array.append(try item(depth: depth + 1)) }
      return .array(array)
    case 5:
      var map = CBORMap()
      while try !takeBreak() { _ = try member(&map, depth) }
      return .map(map)
    default:
      throw Self.malformed("an indefinite length where none may be")
    }
  }

  /// Returns the encoding of its name.
  private mutating func member(_ map: inout CBORMap, _ depth: Int) throws(ProofError) -> ArraySlice<UInt8> {
    let start = position
    let key = try item(depth: depth + 1)
    let name = bytes[start..<position]
    guard map.add(key, try item(depth: depth + 1)) else { throw Self.malformed("a map has a key twice") }
    return name
  }

  /// Checks that a map's name is an integer or a text, and comes after the one before it. With the shortest heads, the
  /// order of the encodings is that of types, lengths and values.
  private static func check(_ name: ArraySlice<UInt8>, after last: ArraySlice<UInt8>?) throws(ProofError) {
    // Major types: unsigned, negative, text.
    guard let head = name.first, [0, 1, 3].contains(head >> 5) else {
      throw malformed("a map's name that is neither an integer nor a text")
    }
    guard last.map({ $0.lexicographicallyPrecedes(name) }) ?? true else {
      throw malformed("a map's names are not in their order")
    }
  }

  // MARK: Bytes

  private mutating func head() throws(ProofError) -> Head {
    let first = try byte()
    let major = first >> 5
    let additional = first & 0x1F
    switch additional {
    case 0..<24: return .definite(major: major, argument: UInt64(additional), additional: additional)
    case 24...27:
      var argument: UInt64 = 0
      let count = 1 << (additional - 24)
      for _ in 0..<count { argument = argument << 8 | UInt64(try byte()) }
      if form == .ctap2Canonical, major != 7 {
        // The greatest number that a shorter head holds.
        let shorter = additional == 24 ? 23 : UInt64.max >> (64 - 4 * count)
        guard argument > shorter else { throw Self.malformed("a number that is longer than it needs to be") }
      }
      return .definite(major: major, argument: argument, additional: additional)
    case 31 where (2...5).contains(major) && form == .wellFormed: return .indefinite(major: major)
    default: throw Self.malformed("additional information \(additional)")
    }
  }

  private mutating func byte() throws(ProofError) -> UInt8 {
    guard position < bytes.count else { throw Self.malformed("it ends early") }
    defer { position += 1 }
    return bytes[position]
  }

  private mutating func takeBreak() throws(ProofError) -> Bool {
    guard position < bytes.count else { throw Self.malformed("it ends early") }
    guard bytes[position] == 0xFF else { return false }
    position += 1
    return true
  }

  private mutating func take(_ count: UInt64) throws(ProofError) -> [UInt8] {
    guard count <= UInt64(bytes.count - position) else { throw Self.malformed("it ends early") }
    defer { position += Int(count) }
    return Array(bytes[position..<position + Int(count)])
  }

  private mutating func text(_ count: UInt64) throws(ProofError) -> String {
    guard let text = String(validating: try take(count), as: UTF8.self) else {
      throw Self.malformed("a text is not UTF-8")
    }
    return text
  }

  /// An item takes a byte at least.
  private func itemCount(_ count: UInt64) throws(ProofError) -> Int {
    guard count <= UInt64(bytes.count - position) else { throw Self.malformed("it ends early") }
    return Int(count)
  }

  private mutating func countChunk() throws(ProofError) {
    items += 1
    guard items <= Self.maximumItems else { throw Self.malformed("more than \(Self.maximumItems) items") }
  }

  private static func malformed(_ detail: String) -> ProofError {
    ProofError(.malformedCBOR, detail)
  }
}
