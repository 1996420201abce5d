// Finds the events that name a profile, without an index that every appended event would have to change.

/// A fixed number of events in a row. When a block is whole, the digests of its events' names are stored at once
/// (`BlockNames`). A search reads them, and then the events that may match. In the block at the log's end it reads the
/// events.
struct EventBlock: Sendable {
  private static let sizeExponent: UInt64 = 8
  static let size = 1 << sizeExponent

  let number: UInt64

  private init(number: UInt64) {
    self.number = number
  }

  /// The block that the event belongs to.
  init(of sequence: UInt64) {
    number = sequence >> Self.sizeExponent
  }

  /// The numbers of its first and its last event.
  var first: UInt64 { number << Self.sizeExponent }
  var last: UInt64 { first + UInt64(Self.size) - 1 }

  /// The blocks with the events after `start`, up to `end`.
  static func all(after start: UInt64, through end: UInt64) -> some Sequence<EventBlock> {
    (start < end ? EventBlock(of: start + 1).number..<EventBlock(of: end).number + 1 : 0..<0)
      .lazy.map { EventBlock(number: $0) }
  }
}

/// Eight bytes for each event of a block: digests of its application, and of its application and profile. Zeros stand
/// for an event without names. Different names may have equal digests, so a search compares the events' own names.
struct BlockNames: Equatable {
  private static let entrySize = 8

  private(set) var bytes = [UInt8](repeating: 0, count: EventBlock.size * entrySize)

  init() {}

  /// `nil`: these are no names of a block.
  init?(stored bytes: [UInt8]) {
    guard bytes.count == self.bytes.count else { return nil }
    self.bytes = bytes
  }

  /// Its `sequence` is one of the block.
  mutating func set(_ names: NameDigest, of sequence: UInt64) { self[place(of: sequence)] = names }

  mutating func clear(_ sequence: UInt64) { set(NameDigest(application: 0, profile: 0), of: sequence) }

  /// The events of the block that may name them, neighbours together. An empty profile stands for all.
  func events(of block: EventBlock, naming application: String, _ profile: String) -> [ClosedRange<UInt64>] {
    let wanted = NameDigest(application, profile)
    var ranges: [ClosedRange<UInt64>] = []
    for place in 0..<EventBlock.size {
      let found = self[place]
      guard found.application == wanted.application, profile.isEmpty || found.profile == wanted.profile else {
        continue
      }
      let sequence = block.first + UInt64(place)
      if let last = ranges.last, last.upperBound + 1 == sequence {
        ranges[ranges.count - 1] = last.lowerBound...sequence
      } else {
        ranges.append(sequence...sequence)
      }
    }
    return ranges
  }

  /// The first event after `start` of which these and the other names differ.
  func firstDifference(from other: BlockNames, in block: EventBlock, after start: UInt64) -> UInt64? {
    (0..<EventBlock.size).first { place in
      block.first + UInt64(place) > start && self[place] != other[place]
    }.map { block.first + UInt64($0) }
  }

  private func place(of sequence: UInt64) -> Int { Int(sequence % UInt64(EventBlock.size)) }

  private subscript(place: Int) -> NameDigest {
    get {
      bytes.withUnsafeBytes { bytes in
        func number(at offset: Int) -> UInt32 {
          UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place * Self.entrySize + offset, as: UInt32.self))
        }
        return NameDigest(application: number(at: 0), profile: number(at: 4))
      }
    }
    set {
      bytes.withUnsafeMutableBytes { bytes in
        let offset = place * Self.entrySize
        bytes.storeBytes(of: newValue.application.littleEndian, toByteOffset: offset, as: UInt32.self)
        bytes.storeBytes(of: newValue.profile.littleEndian, toByteOffset: offset + 4, as: UInt32.self)
      }
    }
  }
}

/// FNV-1a of 32 bits, which is stored: https://datatracker.ietf.org/doc/html/draft-eastlake-fnv. A caller that chooses
/// names with another profile's digest makes that profile's events slower to find, and nothing else.
struct NameDigest: Equatable {
  let application: UInt32
  /// Includes the application.
  let profile: UInt32

  fileprivate init(application: UInt32, profile: UInt32) {
    self.application = application
    self.profile = profile
  }

  fileprivate init(_ application: String, _ profile: String) {
    self.application = Self.digest(application.utf8)
    self.profile = Self.digest(profile.utf8, after: self.application)
  }

  /// The row's next columns are the names.
  init(_ row: inout Row) {
    application = row.withBytes { Self.digest($0) }
    profile = row.withBytes { [application] in Self.digest($0, after: application) }
  }

  private static func digest(_ bytes: some Sequence<UInt8>) -> UInt32 { digest(bytes, from: 0x811C_9DC5) }

  /// A byte that is in no name keeps the two apart.
  private static func digest(_ bytes: some Sequence<UInt8>, after application: UInt32) -> UInt32 {
    digest(bytes, from: digest(CollectionOfOne(0xFF), from: application))
  }

  private static func digest(_ bytes: some Sequence<UInt8>, from basis: UInt32) -> UInt32 {
    bytes.reduce(basis) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }
}
