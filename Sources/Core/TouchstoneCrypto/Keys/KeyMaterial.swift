internal import Encodings

/// All secrets of one service in their stored form: bytes under names, the content of a directory or a bundle. Wiped
/// when its last reference goes.
struct KeyMaterial: Sendable {
  var pepper: SecretBytes
  var keys: [KeyFileName: SecretBytes]

  static let pepperName = "pepper"

  /// The bytes of its file.
  static func newKey(of kind: KeyKind) -> SecretBytes {
    switch kind {
    case .sealing: SecretBytes(randomBytes(SealingKey.byteCount))
    case .signing, .audit: SecretBytes(Array(SigningKey.random().pem.utf8))
    }
  }

  /// Every forgotten key lengthens the check of each token. More than a rotation's three are a mistake.
  static let maximumKeysOfAKind = 16

  func names(of kind: KeyKind) -> [KeyFileName] {
    keys.keys.filter { $0.kind == kind }.sorted()
  }
}

extension KeyRing {
  /// - Parameter path: the path of the entry with this name, for errors; of everything if the name is empty.
  init(_ material: KeyMaterial, path: @escaping (String) -> String) throws(KeyRingError) {
    let reader = MaterialReader(material: material, path: path)
    self.init(
      signing: SigningKeys(
        try reader.succession(of: .signing, identity: \.keyID) { bytes throws(CryptoError) in
          try SigningKey(pem: String(decoding: bytes, as: UTF8.self))
        }),
      sealing: SealingKeys(
        try reader.succession(of: .sealing, identity: { Base64URL.encode($0.id) }) { bytes throws(CryptoError) in
          try SealingKey(bytes: bytes)
        }),
      pepper: try reader.parse(material.pepper, KeyMaterial.pepperName) { bytes throws(CryptoError) in
        try Pepper(bytes: bytes)
      },
      audit: material.names(of: .audit).isEmpty
        ? nil
        : AuditKeys(
          try reader.succession(of: .audit, identity: \.keyID) { bytes throws(CryptoError) in
            try SigningKey(pem: String(decoding: bytes, as: UTF8.self))
          }))
  }
}

private struct MaterialReader {
  let material: KeyMaterial
  let path: (String) -> String

  func succession<Key: Sendable>(
    of kind: KeyKind, identity: (Key) -> String, parse: ([UInt8]) throws(CryptoError) -> Key
  ) throws(KeyRingError) -> KeySuccession<Key> {
    var identities: Set<String> = []
    var members: [KeySuccession<Key>.Member] = []
    for name in material.names(of: kind) {
      let key = try self.parse(material.keys[name]!, name.path, by: parse)
      guard identities.insert(identity(key)).inserted else {
        throw KeyRingError(code: .duplicateKey, path: path(name.path), reason: "holds the same key as another")
      }
      guard members.last?.number != name.number else {
        throw KeyRingError(code: .duplicateKey, path: path(name.path), reason: "has the same number as another")
      }
      members.append(.init(number: name.number, usedFrom: name.usedFrom, key: key))
    }
    guard members.count <= KeyMaterial.maximumKeysOfAKind else {
      throw KeyRingError(
        code: .tooManyKeys, path: path(kind.rawValue),
        reason:
          "holds more than \(KeyMaterial.maximumKeysOfAKind) keys; `touchstone keys prune` removes unused keys")
    }
    guard let succession = KeySuccession(members) else {
      throw KeyRingError(
        code: .missing, path: path(kind.rawValue), reason: "holds no key; restore it from a backup")
    }
    return succession
  }

  func parse<Value>(
    _ secret: SecretBytes, _ name: String, by parse: ([UInt8]) throws(CryptoError) -> Value
  ) throws(KeyRingError) -> Value {
    var bytes = secret.withBytes { Array($0) }
    defer { SecretBytes.wipe(&bytes) }
    do throws(CryptoError) {
      return try parse(bytes)
    } catch {
      throw KeyRingError(code: .malformed, path: path(name), reason: error.message)
    }
  }
}
