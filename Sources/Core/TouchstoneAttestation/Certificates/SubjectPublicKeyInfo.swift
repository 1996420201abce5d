internal import SwiftASN1

/// Public keys in DER, as certificates have them (RFC 5280 §4.1.2.7).
enum SubjectPublicKeyInfo {
  static let p256: ASN1ObjectIdentifier = [1, 2, 840, 10045, 3, 1, 7]

  /// RFC 5480.
  ///
  /// - Parameter point: 04 ‖ x ‖ y.
  static func ellipticCurve(_ curve: ASN1ObjectIdentifier, point: [UInt8]) -> [UInt8] {
    encoded([1, 2, 840, 10045, 2, 1], key: point) { $0.append(curve) }
  }

  /// RFC 8410.
  static func edwards(_ algorithm: ASN1ObjectIdentifier, key: [UInt8]) -> [UInt8] {
    encoded(algorithm, key: key) { _ in }
  }

  /// RFC 8017. Both numbers are big-endian, with no zero before them.
  static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
    let key = sequence {
      $0.appendUnsigned(modulus)
      $0.appendUnsigned(exponent)
    }
    return encoded([1, 2, 840, 113549, 1, 1, 1], key: key) { $0.appendPrimitiveNode(identifier: .null) { _ in } }
  }

  private static func encoded(
    _ algorithm: ASN1ObjectIdentifier, key: [UInt8], parameters: (inout DER.Serializer) -> Void
  ) -> [UInt8] {
    sequence { serializer in
      serializer.appendConstructedNode(identifier: .sequence) { serializer in
        serializer.append(algorithm)
        parameters(&serializer)
      }
      serializer.appendPrimitiveNode(identifier: .bitString) { $0 += [0] + key }
    }
  }

  private static func sequence(_ body: (inout DER.Serializer) -> Void) -> [UInt8] {
    var serializer = DER.Serializer()
    serializer.appendConstructedNode(identifier: .sequence, body)
    return serializer.serializedBytes
  }
}

extension DER.Serializer {
  fileprivate mutating func append(_ oid: ASN1ObjectIdentifier) {
    do {
      try serialize(oid)
    } catch {
      preconditionFailure("an object identifier of ours cannot be encoded: \(error)")
    }
  }

  fileprivate mutating func appendUnsigned(_ bytes: [UInt8]) {
    appendPrimitiveNode(identifier: .integer) { $0 += (bytes[0] < 0x80 ? [] : [0]) + bytes }
  }
}
