// Refuses device ids that are evidently guessable. It estimates how many bits of an id are unpredictable: it finds
// names, numbers and addresses, and accepts what generators of random ids make.
//
// It finds accidents only. A hash or an encoding of something known looks random.

public enum DeviceID {
  /// A caller that names a device can lock it for the vendor's other applications (R8), so its id must not be
  /// guessable.
  public static let fewestCharacters = 16
  /// 16 random hexadecimal digits have 64 bits; chance series in them cost up to about 8. A MAC address has 48 at most.
  public static let fewestBits = 50.0

  /// Returns the fault of an id that is short or evidently guessable, because the app may have chosen badly (R30).
  public static func violation(in id: String, profileID: String) -> String? {
    guard id.unicodeScalars.count >= fewestCharacters else { return "has fewer than \(fewestCharacters) characters" }
    let bytes = Array(id.utf8)
    guard isWritten(bytes) else {
      return "is a description and no random id: it has characters or a form that no generator makes"
    }
    let core = bytes.core
    let decoded = bytes.decodedFromBase64
    guard !KnownDeviceIDs.contains(core), !KnownDeviceIDs.contains(decoded.hexadecimal), !core.isRepetition else {
      return "is known to be on many devices"
    }
    guard !decoded.isText, !core.isHexadecimal || DeviceIDPart(core[...]).bitsAsHexadecimal >= fewestBits else {
      return "is guessable: made of words, numbers, an address, or series"
    }
    guard tellingBits(of: bytes) >= fewestBits else {
      return "is guessable: made of words, numbers, an address, or series"
    }
    guard tellingBits(of: bytes.removing(name: profileID)) >= fewestBits else {
      return "is guessable: hardly more than the profile's id"
    }
    return nil
  }

  /// Whether a generator may have written it: not a build's fingerprint ("google/sdk:13/TE1A:user/release-keys"), a
  /// browser's name for itself, or an e-mail address.
  private static func isWritten(_ id: [UInt8]) -> Bool {
    let isFingerprint = id.contains(UInt8(ascii: "/")) && id.contains(UInt8(ascii: ":"))
    return !isFingerprint && !id.isBuildsName
      && id.allSatisfy { $0.isLetter || $0.isDigit || "-_.:+/={}|~$".utf8.contains($0) }
  }

  /// Bits for all words together, as for a choice among a million: names, makers and models are no secret.
  private static let mostBitsOfWords = 20.0

  private static func tellingBits(of id: [UInt8]) -> Double {
    let mixesCases = mixesCases(id)
    var bits = 0.0
    var bitsOfWords = 0.0
    let parts = id.split(whereSeparator: \.isSeparator)
    guard !isInternetAddress(id, parts), !parts.containUUIDOfAddress else { return 0 }
    // A part tells something once.
    for (index, bytes) in parts.enumerated() where !parts[..<index].contains(bytes) {
      let part = DeviceIDPart(bytes)
      if part.isHexadecimal {
        bits += part.bitsAsHexadecimal
      } else if part.isWord, !mixesCases {
        bitsOfWords += part.bitsAsWord
        bits += part.bitsBeyondLongestWord
      } else {
        bits += part.bitsAsMixture(ofCases: mixesCases)
      }
    }
    return bits + min(bitsOfWords, mostBitsOfWords)
  }

  /// All eight groups of IPv6.
  private static func isInternetAddress(_ id: [UInt8], _ parts: [ArraySlice<UInt8>]) -> Bool {
    parts.count == 8 && parts.allSatisfy { $0.count <= 4 && $0.allSatisfy(\.isHexadecimal) }
      && id.allSatisfy { $0.isHexadecimal || $0 == UInt8(ascii: ":") }
  }

  /// As in base64: a capital that begins no word, and small letters.
  private static func mixesCases(_ id: [UInt8]) -> Bool {
    id.contains(where: \.isLower) && zip(id, id.dropFirst()).contains { $0.isLetter && $1.isUpper }
  }
}

/// The letters and digits between two other characters.
private struct DeviceIDPart {
  let bytes: ArraySlice<UInt8>
  /// For each byte: whether it begins a character, and one that is more than the next of a series.
  let isTelling: [Bool]

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    isTelling = bytes.indices.map { bytes[$0] & 0xC0 != 0x80 && !Self.isForeseen($0, in: bytes) }
  }

  private static let bitsOfDigit = 3.32  // log2 of 10

  /// "dddd", "3456", "2a4a6a8a": the fourth of equal steps, from each character to the next or to the one after.
  /// "x7kx7kx7k": the fourth in a row that repeats an earlier one at the same distance.
  private static func isForeseen(_ index: Int, in bytes: ArraySlice<UInt8>) -> Bool {
    let isSeries = [1, 2].contains { distance in
      guard index - 3 * distance >= bytes.startIndex else { return false }
      let steps = (0..<3).map { bytes[index - $0 * distance] &- bytes[index - ($0 + 1) * distance] }
      return steps[0] == steps[1] && steps[1] == steps[2]
    }
    return isSeries
      || (1...longestPeriod).contains { period in
        index - 3 - period >= bytes.startIndex && (index - 3...index).allSatisfy { bytes[$0] == bytes[$0 - period] }
      }
  }

  private static let longestPeriod = 4

  private func count(_ isMeant: (UInt8) -> Bool) -> Double {
    Double(zip(bytes, isTelling).count { isMeant($0) && $1 })
  }

  // MARK: Hexadecimal digits and numbers

  /// In one case, and with a decimal digit.
  var isHexadecimal: Bool {
    let hasUpper = bytes.contains(where: \.isUpper)
    return bytes.contains(where: \.isDigit)
      && bytes.allSatisfy { $0.isDigit || ($0 | 0x20 <= UInt8(ascii: "f") && $0.isLetter && $0.isUpper == hasUpper) }
  }

  /// A piece of a MAC address, or the whole: half of it belongs to its maker. Also an EUI-64 made from one (RFC 4291,
  /// appendix A), and two addresses by one maker.
  private var isAddress: Bool {
    switch bytes.count {
    case ...4, 12: true
    case 16: bytes.dropFirst(6).prefix(4).elementsEqual("fffe".utf8) { $0 | 0x20 == $1 }
    case 24: bytes.prefix(6).elementsEqual(bytes.dropFirst(12).prefix(6))
    default: false
    }
  }

  /// A number usually belongs to something: a telephone, an account, a time.
  var bitsAsHexadecimal: Double {
    let isNumber = bytes.allSatisfy(\.isDigit)
    let bits = count { _ in true } * (isNumber ? Self.bitsOfDigit : 4)
    return isNumber || isAddress ? bits / 2 : bits
  }

  // MARK: Words

  private static let bitsOfLetterInWord = 4.0
  private static let mostBitsOfWord = 8.0
  /// Longer ones are hardly words.
  private static let longestWord = 12.0

  /// Letters of one case, but for the first.
  var isWord: Bool {
    bytes.allSatisfy(\.isLetter) && (!bytes.dropFirst().contains(where: \.isUpper) || !bytes.contains(where: \.isLower))
  }

  var bitsAsWord: Double { min(Self.mostBitsOfWord, Self.bitsOfLetterInWord * count { _ in true }) }

  var bitsBeyondLongestWord: Double {
    Self.bitsOfLetterInWord * max(0, count { _ in true } - Self.longestWord)
  }

  // MARK: Mixtures

  /// The first two letters of a run carry more bits than the others, which may be the rest of a word.
  func bitsAsMixture(ofCases mixesCases: Bool) -> Double {
    let mixes = mixesCases || (bytes.contains(where: \.isUpper) && bytes.contains(where: \.isLower))
    let bitsOfLetter: (first: Double, further: Double) = mixes ? (5, 4) : (4, 2)
    return runs.reduce(count(\.isDigit) * Self.bitsOfDigit) { bits, length in
      bits + min(length, 2) * bitsOfLetter.first + max(0, length - 2) * bitsOfLetter.further
    }
  }

  /// How many letters of each run of one case carry bits; a capital belongs to the letters after it.
  private var runs: [Double] {
    var runs: [Double] = []
    var previous: UInt8?
    for (byte, isTelling) in zip(bytes, isTelling) {
      defer { previous = byte }
      guard byte.isLetter else { continue }
      let goesOn = previous.map { $0.isLetter && (!byte.isUpper || $0.isUpper) } ?? false
      if !goesOn { runs.append(0) }
      if isTelling { runs[runs.count - 1] += 1 }
    }
    return runs
  }
}

extension [ArraySlice<UInt8>] {
  /// A UUID of a time and a MAC address: version 1, 2 or 6, and a node without the bit that marks a random one (RFC
  /// 9562, sections 5.1 and 6.10).
  fileprivate var containUUIDOfAddress: Bool {
    guard count >= 5 else { return false }
    return (0...(count - 5)).contains { start in
      let uuid = self[start..<start + 5]
      guard uuid.map(\.count) == [8, 4, 4, 4, 12], uuid.joined().allSatisfy(\.isHexadecimal) else { return false }
      let (version, node) = (self[start + 2].first, self[start + 4])
      let secondDigit = node[node.startIndex + 1]
      let isMulticast = (secondDigit.isDigit ? secondDigit : secondDigit &+ 1) & 1 == 1
      return !isMulticast && "126".utf8.contains { $0 == version }
    }
  }
}

extension UInt8 {
  fileprivate var isHexadecimal: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) }
  fileprivate var isUpper: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
  /// Bytes beyond ASCII belong to letters.
  fileprivate var isLower: Bool { isLetter && !isUpper }
  fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) || self > 0x7F }
  fileprivate var isSeparator: Bool { !isLetter && !isDigit }
}

extension [UInt8] {
  /// The letters and digits in lower case, without a UUID's name in URNs.
  fileprivate var core: [UInt8] {
    let prefix = "urn:uuid:".utf8
    let rest = lazy.map { $0 | 0x20 }.starts(with: prefix) ? Array(dropFirst(prefix.count)) : self
    return rest.filter { !$0.isSeparator }.map { $0.isUpper ? $0 | 0x20 : $0 }
  }

  fileprivate var isHexadecimal: Bool { allSatisfy(\.isHexadecimal) }

  /// One block, again and again: "c0ffee00" four times.
  fileprivate var isRepetition: Bool {
    guard count > 1 else { return false }
    return (1...count / 2).contains { period in
      count.isMultiple(of: period) && indices.dropFirst(period).allSatisfy { self[$0] == self[$0 - period] }
    }
  }

  /// Whether it has the end of an Android build's fingerprint, whatever stands in place of its separators.
  fileprivate var isBuildsName: Bool {
    let words = map { $0.isUpper ? $0 | 0x20 : $0 }.split(whereSeparator: \.isSeparator).suffix(2)
    guard words.count == 2, let last = words.last, last.elementsEqual("keys".utf8) else { return false }
    return ["release", "dev", "test"].contains { words.first?.elementsEqual($0.utf8) ?? false }
  }

  /// The bytes that this stands for as base64 or base64url, with or without padding; empty if it is neither.
  fileprivate var decodedFromBase64: [UInt8] {
    var bits: UInt32 = 0
    var bitCount = 0
    var decoded: [UInt8] = []
    for byte in prefix(while: { $0 != UInt8(ascii: "=") }) {
      guard let value = byte.valueInBase64 else { return [] }
      bits = bits << 6 | value
      bitCount += 6
      guard bitCount >= 8 else { continue }
      bitCount -= 8
      decoded.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
    }
    return decoded
  }

  /// Whether the bytes read as text. One in ten million of 16 random bytes does.
  fileprivate var isText: Bool { count >= 12 && allSatisfy { (0x20...0x7E).contains($0) } }

  fileprivate var hexadecimal: [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }
}

extension UInt8 {
  fileprivate var valueInBase64: UInt32? {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(self - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(self - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
