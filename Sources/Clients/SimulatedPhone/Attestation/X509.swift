internal import Crypto

/// The little of X.509 that App Attest needs (RFC 5280), in DER.
enum X509 {
  /// ecdsa-with-SHA256
  private static let algorithm = sequence([[0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]])
  private static let commonName: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]
  private static let validity = sequence([
    value(0x17, Array("200101000000Z".utf8)), value(0x17, Array("491231235959Z".utf8)),
  ])
  private static let yes: [UInt8] = [0x01, 0x01, 0xFF]

  /// Basic constraints and key usage: it signs certificates.
  static let authority = [
    sequence([[0x06, 0x03, 0x55, 0x1D, 0x13], yes, octets(sequence([yes]))]),
    sequence([[0x06, 0x03, 0x55, 0x1D, 0x0F], yes, octets([0x03, 0x02, 0x02, 0x04])]),
  ]

  /// Apple's 1.2.840.113635.100.8.2.
  static func nonce(_ nonce: [UInt8]) -> [UInt8] {
    sequence([
      [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x08, 0x02],
      octets(sequence([value(0xA1, octets(nonce))])),
    ])
  }

  static func body(
    _ publicKey: [UInt8], _ subject: String, _ issuer: String, _ extensions: [[UInt8]]
  ) -> [UInt8] {
    let version: [UInt8] = [0xA0, 0x03, 0x02, 0x01, 0x02]
    // The key's own: its first byte makes it positive, and no byte of it can be left out.
    let serial = [0x40] + SHA256.hash(data: publicKey).prefix(15)
    return sequence([
      version, value(0x02, serial), algorithm, name(issuer), validity, name(subject), publicKey,
      value(0xA3, sequence(extensions)),
    ])
  }

  static func certificate(_ body: [UInt8], signature: [UInt8]) -> [UInt8] {
    sequence([body, algorithm, value(0x03, [0] + signature)])
  }

  private static func name(_ text: String) -> [UInt8] {
    sequence([value(0x31, sequence([commonName, value(0x0C, Array(text.utf8))]))])
  }

  private static func octets(_ bytes: [UInt8]) -> [UInt8] { value(0x04, bytes) }

  private static func sequence(_ items: [[UInt8]]) -> [UInt8] { value(0x30, items.flatMap(\.self)) }

  /// Up to 65,535 bytes.
  private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    let length: [UInt8] =
      switch count {
      case 0..<0x80: [UInt8(count)]
      case 0x80..<0x100: [0x81, UInt8(count)]
      default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
      }
    return [tag] + length + content
  }
}
