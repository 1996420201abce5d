import CNGHTTP2
internal import Encodings
import Glibc

/// Fields for one submit, laid out so that one call costs no allocation once the buffers have grown. Static names and
/// values are passed by pointer and never copied; the rest lies in one byte buffer that nghttp2 copies from.
struct HeaderBlock {
  private struct Placement {
    var field: Int
    /// In `bytes`; `nil` for a static one.
    var name: Int?
    var value: Int?
  }

  private var fields: [nghttp2_nv] = []
  private var placements: [Placement] = []
  private var bytes: [UInt8] = []
  /// Names, values and `fieldOverheadBytes` for each field, as RFC 9113 §6.5.2 counts a header list.
  private var listBytes = 0

  private static let fieldOverheadBytes = 32

  mutating func removeAll() {
    listBytes = 0
    fields.removeAll(keepingCapacity: true)
    placements.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  mutating func add(_ name: StaticString, _ value: StaticString) {
    append(nghttp2_nv(static: name, value))
  }

  mutating func add(_ name: StaticString, _ value: String) {
    add(name) { $0.append(contentsOf: value.utf8) }
  }

  /// `write` appends the value.
  mutating func add(_ name: StaticString, value write: (inout [UInt8]) -> Void) {
    let start = bytes.count
    write(&bytes)
    var field = nghttp2_nv(static: name, "")
    field.valuelen = bytes.count - start
    field.flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    placements.append(Placement(field: fields.count, name: nil, value: start))
    append(field)
  }

  mutating func add(_ metadata: Metadata) {
    for entry in metadata.entries { add(entry) }
  }

  /// Adds as much metadata as the list limit allows. If not all of it fits, the error's details are dropped first: they
  /// are the largest as a rule, and the status has the same in short.
  mutating func add(_ metadata: Metadata, listLimitBytes limit: Int) {
    let fitsWhole = metadata.entries.reduce(listBytes) { $0 + Self.listBytes(of: $1) } <= limit
    for entry in metadata.entries where fitsWhole || entry.name != "grpc-status-details-bin" {
      if listBytes + Self.listBytes(of: entry) <= limit { add(entry) }
    }
  }

  private mutating func add(_ entry: Metadata.Entry) {
    let name = bytes.count
    bytes.append(contentsOf: entry.name.utf8)
    let value = bytes.count
    switch entry.value {
    case .text(let text): bytes.append(contentsOf: text.utf8)
    case .binary(let data): Base64.append(data, to: &bytes)
    }
    var field = nghttp2_nv()
    field.namelen = value - name
    field.valuelen = bytes.count - value
    placements.append(Placement(field: fields.count, name: name, value: value))
    append(field)
  }

  private mutating func append(_ field: nghttp2_nv) {
    fields.append(field)
    listBytes += field.namelen + field.valuelen + Self.fieldOverheadBytes
  }

  private static func listBytes(of entry: Metadata.Entry) -> Int {
    let valueBytes =
      switch entry.value {
      case .text(let text): text.utf8.count
      case .binary(let data): Base64.encodedCount(data.count)
      }
    return entry.name.utf8.count + valueBytes + fieldOverheadBytes
  }

  /// The pointers are valid during the call.
  mutating func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>, Int) -> Result) -> Result {
    bytes.withUnsafeMutableBufferPointer { bytes in
      for placement in placements {
        if let name = placement.name { fields[placement.field].name = bytes.baseAddress.map { $0 + name } }
        if let value = placement.value { fields[placement.field].value = bytes.baseAddress.map { $0 + value } }
      }
      return fields.withUnsafeBufferPointer { body($0.baseAddress!, $0.count) }
    }
  }
}

extension nghttp2_nv {
  /// Neither is copied: both live as long as the program.
  init(static name: StaticString, _ value: StaticString) {
    self.init(
      name: UnsafeMutablePointer(mutating: name.utf8Start),
      value: UnsafeMutablePointer(mutating: value.utf8Start),
      namelen: name.utf8CodeUnitCount,
      valuelen: value.utf8CodeUnitCount,
      flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue))
  }
}

extension UnsafeRawBufferPointer {
  /// The text's UTF-8, which lives as long as the program.
  init(_ text: StaticString) {
    self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  @inline(__always)
  func equals(_ text: StaticString) -> Bool {
    equals(UnsafeRawBufferPointer(text))
  }

  @inline(__always)
  func equals(_ other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && (count == 0 || memcmp(baseAddress!, other.baseAddress!, count) == 0)
  }
}
