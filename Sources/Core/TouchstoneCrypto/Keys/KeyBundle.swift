internal import Encodings

/// The secrets of a service as one text, for an environment variable or for one file of a mounted secret: words with
/// white space between them.
///
///     touchstone-keys-1 pepper=… sealing/1.key=… signing/1.pem=… signing/2.from-20261121T213000Z.pem=… end
///
/// Each word is a file's name as in the directory, and its content in base64url without padding. The last word shows
/// that nothing was cut off.
enum KeyBundle {
  /// Far more than any set of keys needs: 13 KB.
  static let maximumByteCount = 64 << 10

  private static let firstWord = "touchstone-keys-1"
  private static let lastWord = "end"

  static func text(of material: KeyMaterial) -> String {
    func word(_ name: String, _ secret: SecretBytes) -> String {
      "\(name)=\(Base64URL.encode(secret.withBytes { Array($0) }))"
    }
    let keys = KeyKind.allCases.flatMap { material.names(of: $0) }.map { word($0.path, material.keys[$0]!) }
    return ([firstWord, word(KeyMaterial.pepperName, material.pepper)] + keys + [lastWord]).joined(separator: " ")
  }

  /// - Parameter source: where it comes from, for errors.
  static func read(_ text: SecretBytes, from source: String) throws(KeyRingError) -> KeyMaterial {
    func malformed(_ reason: String) -> KeyRingError { KeyRingError(code: .malformed, path: source, reason: reason) }
    let words = text.withBytes { bytes in
      bytes.split { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.map { SecretBytes($0) }
    }
    guard words.first?.text == firstWord else {
      throw malformed("does not begin with \(firstWord); `touchstone keys export` makes it")
    }
    guard words.count > 1, words.last?.text == lastWord else { throw malformed("its end was cut off") }

    var pepper: SecretBytes?
    var keys: [KeyFileName: SecretBytes] = [:]
    for (index, word) in words.dropFirst().dropLast().enumerated() {
      // The word itself may be a secret, so the error gives only its position.
      let place = "word \(index + 2)"
      guard let (entry, secret) = word.withBytes({ nameAndContent($0) }) else {
        throw malformed("\(place) is not a name and its content in base64url")
      }
      if entry == KeyMaterial.pepperName {
        guard pepper == nil else { throw malformed("\(place) is a second pepper") }
        pepper = secret
      } else if let name = keyName(entry) {
        guard keys.updateValue(secret, forKey: name) == nil else {
          throw malformed("\(place) has the same name as another")
        }
      } else {
        throw malformed("\(place) is not named like a key")
      }
    }
    guard let pepper else {
      throw KeyRingError(code: .missing, path: source, reason: "holds no pepper; restore it from a backup")
    }
    return KeyMaterial(pepper: pepper, keys: keys)
  }

  private static func nameAndContent(_ word: UnsafeRawBufferPointer) -> (name: String, content: SecretBytes)? {
    guard let mark = word.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    var encoded = Array(word[(mark + 1)...])
    defer { SecretBytes.wipe(&encoded) }
    guard var content = Base64URL.decode(encoded[...]) else { return nil }
    defer { SecretBytes.wipe(&content) }
    return (String(decoding: word[..<mark], as: UTF8.self), SecretBytes(content))
  }

  private static func keyName(_ path: String) -> KeyFileName? {
    let parts = path.split(separator: "/", maxSplits: 1)
    guard parts.count == 2, let kind = KeyKind(rawValue: String(parts[0])) else { return nil }
    return KeyFileName(String(parts[1]), kind: kind)
  }
}

extension SecretBytes {
  /// For a name, which is not secret.
  fileprivate var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}
