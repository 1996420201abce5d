// HdrHistogram's V2 compressed encoding in base64, which its readers in other languages take.

internal import FoundationEssentials

/// A text that holds no histogram of three digits, as `LatencyHistogram` writes it.
package struct HistogramDecodingError: Error {}

extension LatencyHistogram {
  private static let cookie: UInt32 = 0x1C84_9303 | 0x10
  private static let compressedCookie: UInt32 = 0x1C84_9304 | 0x10
  private static let significantDigits: UInt32 = 3

  /// HdrHistogram's `EncodableHistogram`.
  package var encoded: String {
    let counts = encodedCounts
    var plain: [UInt8] = []
    plain.append(bigEndian: Self.cookie)
    plain.append(bigEndian: UInt32(counts.count))
    plain.append(bigEndian: UInt32(0))  // normalizing index offset
    plain.append(bigEndian: Self.significantDigits)
    plain.append(bigEndian: UInt64(1))  // lowest discernible value
    plain.append(bigEndian: UInt64(Self.maximumMicroseconds))
    plain.append(bigEndian: Double(1).bitPattern)  // to the unit of the values
    plain += counts
    let body = plain.zlibStored
    var bytes: [UInt8] = []
    bytes.append(bigEndian: Self.compressedCookie)
    bytes.append(bigEndian: UInt32(body.count))
    return Data(bytes + body).base64EncodedString()
  }

  /// Each latency becomes the longest one that its bucket holds.
  package init(encoded text: String) throws(HistogramDecodingError) {
    self.init()
    guard let data = Data(base64Encoded: text) else { throw HistogramDecodingError() }
    var reader = BigEndianReader(bytes: [UInt8](data)[...])
    guard try reader.next(UInt32.self) == Self.compressedCookie, try reader.next(UInt32.self) == reader.bytes.count
    else { throw HistogramDecodingError() }
    reader = BigEndianReader(bytes: try reader.bytes.storedContent()[...])
    guard try reader.next(UInt32.self) == Self.cookie else { throw HistogramDecodingError() }
    let length = try reader.next(UInt32.self)
    guard try reader.next(UInt32.self) == 0, try reader.next(UInt32.self) == Self.significantDigits,
      try reader.next(UInt64.self) == 1, try reader.next(UInt64.self) == Self.maximumMicroseconds,
      try reader.next(UInt64.self) == Double(1).bitPattern, length == reader.bytes.count
    else { throw HistogramDecodingError() }
    try decodeCounts(&reader)
  }

  private mutating func decodeCounts(_ reader: inout BigEndianReader) throws(HistogramDecodingError) {
    var index = 0
    while !reader.bytes.isEmpty {
      let number = try reader.zigZag()
      if number < 0 {
        guard number >= -Int64(Self.bucketCount) else { throw HistogramDecodingError() }
        index += Int(-number)
      } else {
        guard index < Self.bucketCount, let count = UInt32(exactly: number) else { throw HistogramDecodingError() }
        record(min(Self.longest(inBucket: index), Self.maximumMicroseconds), count: count)
        index += 1
      }
    }
  }

  /// The counts of all buckets up to the last used one, ZigZag LEB128; a negative number stands for as many zeros.
  private var encodedCounts: [UInt8] {
    var bytes: [UInt8] = []
    var next = 0
    for (bucket, count) in used {
      if bucket > next { bytes.append(zigZag: Int64(next - bucket)) }
      bytes.append(zigZag: Int64(count))
      next = bucket + 1
    }
    return bytes
  }
}

extension LatencyHistogram: Codable {
  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    do throws(HistogramDecodingError) {
      try self.init(encoded: text)
    } catch {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no histogram of touchstone-load"))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(encoded)
  }
}

private struct BigEndianReader {
  var bytes: ArraySlice<UInt8>

  mutating func next<Value: FixedWidthInteger>(_ type: Value.Type) throws(HistogramDecodingError) -> Value {
    let size = Value.bitWidth / 8
    guard bytes.count >= size else { throw HistogramDecodingError() }
    defer { bytes = bytes.dropFirst(size) }
    return bytes.prefix(size).reduce(0) { $0 << 8 | Value($1) }
  }

  mutating func zigZag() throws(HistogramDecodingError) -> Int64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = bytes.popFirst() else { break }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
    }
    throw HistogramDecodingError()
  }
}

extension [UInt8] {
  fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  fileprivate mutating func append(zigZag value: Int64) {
    var rest = UInt64(bitPattern: (value << 1) ^ (value >> 63))
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }

  /// A zlib stream (RFC 1950) of stored blocks: the counts are dense already, and so no C library is needed.
  fileprivate var zlibStored: [UInt8] {
    let maximumBlock = 0xFFFF
    var bytes: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: count, by: maximumBlock) {
      let block = self[start..<Swift.min(start + maximumBlock, count)]
      let size = UInt16(block.count)
      bytes.append(block.endIndex == count ? 1 : 0)
      bytes += [UInt8(size & 0xFF), UInt8(size >> 8), UInt8(~size & 0xFF), UInt8(~size >> 8)]
      bytes += block
    }
    bytes.append(bigEndian: adler32)
    return bytes
  }

  /// RFC 1950 §9.
  fileprivate var adler32: UInt32 {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in self {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return high << 16 | low
  }
}

extension ArraySlice<UInt8> {
  /// Returns the bytes from which `zlibStored` was made.
  fileprivate func storedContent() throws(HistogramDecodingError) -> [UInt8] {
    var rest = dropFirst(2)
    var content: [UInt8] = []
    var isLast = false
    while !isLast {
      let header = Array(rest.prefix(5))
      guard header.count == 5, header[0] <= 1, header[1] == ~header[3], header[2] == ~header[4] else {
        throw HistogramDecodingError()
      }
      isLast = header[0] == 1
      let block = rest.dropFirst(5).prefix(Int(header[1]) | Int(header[2]) << 8)
      content += block
      rest = rest[block.endIndex...]
    }
    var reader = BigEndianReader(bytes: rest)
    guard try reader.next(UInt32.self) == content.adler32 else { throw HistogramDecodingError() }
    return content
  }
}
