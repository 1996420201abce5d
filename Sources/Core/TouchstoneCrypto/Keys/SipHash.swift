/// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): 64 bits that look random without the
/// key, for short texts where a caller could measure the time of HMAC-SHA-256 (R37).
///
/// It takes some 30 ns for a text of 22 bytes where `Pepper.digest` takes 3.5 µs (release, x86-64). 64 bits are enough
/// to choose by, not to authenticate with.
package struct SipHash: Sendable {
  private let key: Secret<Key>

  private struct Key: Sendable {
    var low: UInt64
    var high: UInt64
  }

  /// - Parameter bytes: the 16 of the key.
  package init(key bytes: [UInt8]) {
    precondition(bytes.count == 16, "a SipHash key has 16 bytes")
    key = bytes.withUnsafeBytes { Secret(Key(low: $0.word(at: 0), high: $0.word(at: 8))) }
  }

  /// Over the text's UTF-8.
  package func digest(of text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { digest(of: UnsafeRawBufferPointer($0)) }
  }

  private func digest(of bytes: UnsafeRawBufferPointer) -> UInt64 {
    var state = State(low: key.value.low, high: key.value.high)
    let wholeWords = bytes.count & ~7
    for offset in stride(from: 0, to: wholeWords, by: 8) { state.compress(bytes.word(at: offset)) }
    var last = UInt64(truncatingIfNeeded: bytes.count) << 56
    for index in wholeWords..<bytes.count { last |= UInt64(bytes[index]) << UInt64(8 * (index & 7)) }
    state.compress(last)
    return state.finalized()
  }

  /// The paper's four words.
  private struct State {
    private var v0, v1, v2, v3: UInt64

    init(low: UInt64, high: UInt64) {
      v0 = low ^ 0x736F_6D65_7073_6575
      v1 = high ^ 0x646F_7261_6E64_6F6D
      v2 = low ^ 0x6C79_6765_6E65_7261
      v3 = high ^ 0x7465_6462_7974_6573
    }

    mutating func compress(_ word: UInt64) {
      v3 ^= word
      mix(rounds: 2)
      v0 ^= word
    }

    consuming func finalized() -> UInt64 {
      v2 ^= 0xFF
      mix(rounds: 4)
      return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func mix(rounds: Int) {
      for _ in 0..<rounds {
        v0 &+= v1
        v1 = v1.rotated(by: 13) ^ v0
        v0 = v0.rotated(by: 32)
        v2 &+= v3
        v3 = v3.rotated(by: 16) ^ v2
        v0 &+= v3
        v3 = v3.rotated(by: 21) ^ v0
        v2 &+= v1
        v1 = v1.rotated(by: 17) ^ v2
        v2 = v2.rotated(by: 32)
      }
    }
  }
}

extension Pepper {
  /// Under a key of its own for each purpose.
  package func sipHash(purpose: String) -> SipHash { SipHash(key: Array(digest(of: [], purpose: purpose).prefix(16))) }
}

extension UInt64 {
  fileprivate func rotated(by bits: UInt64) -> UInt64 { self << bits | self >> (64 - bits) }
}

extension UnsafeRawBufferPointer {
  fileprivate func word(at offset: Int) -> UInt64 {
    UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
