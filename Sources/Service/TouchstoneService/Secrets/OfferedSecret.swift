// A passcode or a gesture in a request, and what it is compared with.

internal import TouchstoneCrypto
internal import TouchstonePolicy

struct OfferedSecret: Sendable {
  /// Passcode or gesture.
  var kind: Factor
  var bytes: SecretBytes
  /// A passcode's text before its preparation, if that changed it: verifiers of earlier versions are of such texts.
  var bytesAsSent: SecretBytes?

  /// Takes the same time for equal and different secrets of one length.
  func isEqual(to other: OfferedSecret) -> Bool {
    kind == other.kind && bytes.isEqual(to: other.bytes)
  }
}

extension OfferedSecret {
  /// The prepared text in UTF-8 (R16): not trimmed or folded, because a person means each character.
  init(passcode: String) {
    let prepared = OpaqueString.prepare(passcode)
    self.init(kind: .passcode, bytes: SecretBytes(prepared.utf8))
    // `String.==` would call the two equal.
    if !prepared.utf8.elementsEqual(passcode.utf8) { bytesAsSent = SecretBytes(passcode.utf8) }
  }

  /// The dots in the order drawn, a byte each.
  ///
  /// - Precondition: dots are 0 to 8; `RequestValidator` has seen to it.
  init(gesture points: [UInt32]) {
    self.init(kind: .gesture, bytes: SecretBytes(points.map { UInt8($0) }))
  }
}

extension OfferedSecret {
  enum Match {
    case wrong
    case prepared
    /// The verifier is of an earlier version. It is made anew at once.
    case asSent
  }

  /// A wrong text that preparation changes takes two hashes, whatever the verifier: the time tells nothing of it (R37).
  func match(
    _ verifier: [UInt8], context: [UInt8], with hasher: any SecretHasher
  ) throws(CryptoError) -> Match {
    if try hasher.isRight(bytes, for: verifier, context: context) { return .prepared }
    guard let bytesAsSent else { return .wrong }
    return try hasher.isRight(bytesAsSent, for: verifier, context: context) ? .asSent : .wrong
  }
}
