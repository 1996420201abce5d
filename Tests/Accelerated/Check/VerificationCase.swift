// A signature, and what swift-crypto answers to it: one line of text.

import Crypto
import TouchstoneCrypto

struct VerificationCase {
  enum Signed {
    case message([UInt8])
    /// Crafted signatures choose the digest, and know no message that has it.
    case digest([UInt8])
  }

  /// X9.63.
  var key: [UInt8]
  var signature: [UInt8]
  var signed: Signed
  /// `nil`: not asked yet.
  var isRight: Bool?

  init(key: [UInt8], signature: [UInt8], signed: Signed) {
    (self.key, self.signature, self.signed) = (key, signature, signed)
  }

  /// `nil` for an empty line, which ends a batch.
  init?(_ line: Substring) {
    guard !line.isEmpty else { return nil }
    let words = line.split(separator: " ")
    precondition(words.count >= 4, "not a case: \(line)")
    key = bytes(words[1])
    signature = bytes(words[2])
    signed = words[0] == "message" ? .message(bytes(words[3])) : .digest(bytes(words[3]))
    isRight = words.count > 4 ? words[4] == "right" : nil
  }

  var line: String {
    let (kind, content) =
      switch signed {
      case .message(let bytes): ("message", bytes)
      case .digest(let bytes): ("digest", bytes)
      }
    let answer = isRight.map { $0 ? " right" : " wrong" } ?? ""
    return "\(kind) \(hex(key)) \(hex(signature)) \(hex(content))\(answer)"
  }

  /// swift-crypto's answer; `false` for a key that it refuses.
  func answerOfSwiftCrypto() -> Bool {
    guard let publicKey = try? P256PublicKey(bytes: key) else { return false }
    switch signed {
    case .message(let message):
      return SignatureVerifier.verify(SignatureCheck(publicKey: publicKey, signature: signature, message: message))
    case .digest(let digest):
      guard
        let key = try? P256.Signing.PublicKey(x963Representation: key),
        let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
      else { return false }
      return key.isValidSignature(parsed, for: GivenDigest(bytes: digest))
    }
  }
}

/// A digest of no message.
private struct GivenDigest: Digest {
  static let byteCount = 32
  let bytes: [UInt8]

  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }
  func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
  var description: String { hex(bytes) }
}

/// "-" stands for no bytes.
func hex(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return bytes.isEmpty
    ? "-" : String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

func bytes(_ hex: Substring) -> [UInt8] {
  func digit(_ character: UInt8) -> UInt8 { character < 0x3a ? character - 0x30 : character - 0x57 }
  let characters = Array(hex.utf8)
  return hex == "-"
    ? [] : stride(from: 0, to: characters.count, by: 2).map { digit(characters[$0]) << 4 | digit(characters[$0 + 1]) }
}
