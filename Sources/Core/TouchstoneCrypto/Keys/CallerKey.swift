internal import Crypto
internal import Encodings

/// A caller's bearer key: made once, shown once, and stored only as its digest. It is 256 random bits as text: `tsk_`
/// and 43 characters of base64url.
public enum CallerKey {
  /// The prefix identifies a key wherever it turns up, for its finder and for scanners for leaked secrets.
  private static let prefix = "tsk_"
  private static let randomBytes = 32
  static let textBytes = prefix.utf8.count + Base64.encodedCount(randomBytes)

  public static func make(by randomness: Randomness = .system) -> String {
    prefix + Base64URL.encode(randomness.bytes(randomBytes))
  }

  /// Checks only the form. The last character holds two bits that belong to no byte, so only one of its four spellings
  /// is valid.
  static func isWellFormed(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    text.count == textBytes && text.starts(with: prefix.utf8)
      && text.dropFirst(prefix.utf8.count).allSatisfy(isBase64URL) && lastDigits.contains(text[textBytes - 1])
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// The characters whose lower two bits are zero.
  private static let lastDigits = Array("AEIMQUYcgkosw048".utf8)
}

/// SHA-256 of a key's text. A key has 256 random bits, so a configuration may hold its digest: the digest does not
/// reveal the key.
///
/// Not `Equatable`, so that all comparisons use `isEqual`.
public struct CallerKeyDigest: Sendable {
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// `nil`: the text is no key.
  public init?(ofKey text: String) {
    var text = text
    guard let digest = text.withUTF8({ CallerKeyDigest(ofKey: $0) }) else { return nil }
    self = digest
  }

  /// `nil`: the text is no key.
  public init?(ofKey text: UnsafeBufferPointer<UInt8>) {
    guard CallerKey.isWellFormed(text) else { return nil }
    words = Self.digest(of: text)
  }

  /// Takes the same time for equal and different digests.
  public func isEqual(to other: CallerKeyDigest) -> Bool {
    (words.0 ^ other.words.0) | (words.1 ^ other.words.1) | (words.2 ^ other.words.2) | (words.3 ^ other.words.3) == 0
  }

  private static func digest(of text: UnsafeBufferPointer<UInt8>) -> (UInt64, UInt64, UInt64, UInt64) {
    var hash = SHA256()
    hash.update(bufferPointer: UnsafeRawBufferPointer(text))
    return hash.finalize().withUnsafeBytes { Self.words($0) }
  }

  private static func words(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64, UInt64, UInt64) {
    func word(_ index: Int) -> UInt64 {
      UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
    }
    return (word(0), word(1), word(2), word(3))
  }
}

extension CallerKeyDigest: CustomStringConvertible {
  private static let algorithm = "sha256:"
  private static let digestBytes = 32

  /// Parses "sha256:" and 64 hexadecimal digits; `nil` for everything else.
  public init?(_ text: String) {
    guard text.utf8.starts(with: Self.algorithm.utf8),
      let bytes = Hexadecimal.bytes(
        inEitherCase: String(decoding: text.utf8.dropFirst(Self.algorithm.utf8.count), as: UTF8.self)),
      bytes.count == Self.digestBytes
    else { return nil }
    words = bytes.withUnsafeBytes { Self.words($0) }
  }

  public var description: String {
    Self.algorithm + Hexadecimal.text([words.0, words.1, words.2, words.3])
  }
}
