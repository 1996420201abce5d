// Concise Binary Object Representation (RFC 8949): any well-formed item, within bounds.

package indirect enum CBOR: Sendable, Hashable {
  case unsigned(UInt64)
  /// -1 - n.
  case negative(UInt64)
  case bytes([UInt8])
  case text(String)
  case array([CBOR])
  case map(CBORMap)
  case tagged(UInt64, CBOR)
  case boolean(Bool)
  /// Other simple values, and floating-point numbers by their bits: no proof has a use for them.
  case simple(UInt64)

  /// A label of a COSE key, for instance; `nil` beyond 64 bits.
  package init(_ value: Int) {
    self = value < 0 ? .negative(UInt64(-1 - value)) : .unsigned(UInt64(value))
  }

  package var integer: Int? {
    switch self {
    case .unsigned(let value): Int(exactly: value)
    case .negative(let value): Int(exactly: value).map { -1 - $0 }
    default: nil
    }
  }

  package var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }

  package var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  package var array: [CBOR]? {
    if case .array(let items) = self { items } else { nil }
  }

  package var map: CBORMap? {
    if case .map(let map) = self { map } else { nil }
  }
}

/// Members in the order sent; no key occurs twice.
package struct CBORMap: Sendable, Hashable {
  package private(set) var members: [CBOR: CBOR] = [:]

  package subscript(_ name: String) -> CBOR? { members[.text(name)] }
  package subscript(_ label: Int) -> CBOR? { members[CBOR(label)] }
  package var isEmpty: Bool { members.isEmpty }

  /// False: the key is there already.
  mutating func add(_ key: CBOR, _ value: CBOR) -> Bool {
    members.updateValue(value, forKey: key) == nil
  }
}
