import Crypto

/// The public half of a device's or the service's key (R31): a point of P-256 that is not the identity.
public struct P256PublicKey: Sendable, Hashable {
  /// X9.63 uncompressed: `04 ‖ x ‖ y`, 65 bytes. Each key has one such form, whatever form it was read from.
  public let x963: [UInt8]

  let key: P256.Signing.PublicKey

  /// Accepts X9.63 uncompressed (65 bytes, what `SecKeyCopyExternalRepresentation` gives) and compressed (33), and a
  /// SubjectPublicKeyInfo (RFC 5480) in DER that holds either (91 or 59). Anything else, other curves, the identity and
  /// points off the curve throw `.invalidPublicKey`.
  public init(bytes: [UInt8]) throws(CryptoError) {
    let point = Self.point(in: bytes)
    let parsed: P256.Signing.PublicKey? =
      switch point.count {
      case Self.uncompressedByteCount: try? P256.Signing.PublicKey(x963Representation: point)
      case Self.compressedByteCount: try? P256.Signing.PublicKey(compressedRepresentation: point)
      default: nil
      }
    guard let parsed else {
      throw CryptoError(code: .invalidPublicKey, message: "public key: \(Self.mistake(in: bytes))")
    }
    key = parsed
    x963 = point.count == Self.uncompressedByteCount ? Array(point) : Array(parsed.x963Representation)
  }

  init(_ key: P256.Signing.PublicKey) {
    self.key = key
    x963 = Array(key.x963Representation)
  }

  /// The affine coordinates, big-endian, 32 bytes each.
  var x: [UInt8] { Array(x963[1..<33]) }
  var y: [UInt8] { Array(x963[33..<65]) }

  public static func == (left: Self, right: Self) -> Bool {
    left.x963 == right.x963
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(x963)
  }

  /// The point's bytes: after a SubjectPublicKeyInfo's prefix, or the whole.
  ///
  /// DER has one encoding of everything before the point, so comparing it replaces an ASN.1 parser. The four
  /// lengths differ, so none can be taken for another.
  private static func point(in bytes: [UInt8]) -> ArraySlice<UInt8> {
    switch bytes.count {
    case infoPrefixByteCount + uncompressedByteCount where bytes.starts(with: uncompressedInfoPrefix),
      infoPrefixByteCount + compressedByteCount where bytes.starts(with: compressedInfoPrefix):
      bytes.dropFirst(infoPrefixByteCount)
    default:
      bytes[...]
    }
  }

  private static let uncompressedByteCount = 65
  private static let compressedByteCount = 33
  private static let infoPrefixByteCount = 26
  private static let uncompressedInfoPrefix = infoPrefix(pointByteCount: uncompressedByteCount)
  private static let compressedInfoPrefix = infoPrefix(pointByteCount: compressedByteCount)

  /// SEQUENCE { SEQUENCE { id-ecPublicKey, secp256r1 }, BIT STRING (no unused bits) … }
  private static func infoPrefix(pointByteCount: Int) -> [UInt8] {
    let algorithm: [UInt8] = [
      0x30, 0x13,
      0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
      0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
    ]
    let bitString: [UInt8] = [0x03, UInt8(pointByteCount + 1), 0x00]
    return [0x30, UInt8(algorithm.count + bitString.count + pointByteCount)] + algorithm + bitString
  }
}

extension P256PublicKey {
  /// The likely mistake in bytes that are no key, and its remedy.
  private static func mistake(in bytes: [UInt8]) -> String {
    if bytes.starts(with: pemPrefix) { return "PEM; send DER or X9.63" }
    return "neither a point of P-256 in X9.63 or SubjectPublicKeyInfo form nor an RSA key in DER (\(bytes.count) bytes)"
  }

  /// RFC 7468, section 2.
  private static let pemPrefix = Array("-----BEGIN ".utf8)
}
