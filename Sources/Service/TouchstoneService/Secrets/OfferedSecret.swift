// A passcode or a gesture in a request, and its comparison.

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

/// What is hashed to verify a secret.
struct SecretWork: Sendable {
  enum Purpose: Sendable {
    /// A right secret whose verifier is outdated gets another one (R16).
    case attempt
    /// The new secret's verifier is made with the same permit: a right secret must not wait for another one. `nil`: it
    /// is removed.
    case change(to: SecretBytes?)
    /// Nothing is verified, and the verifier is made.
    case set
  }

  let secret: OfferedSecret
  let name: SecretName
  /// `nil`: a dummy is verified in its place, and nothing is right.
  let verifier: [UInt8]?
  let purpose: Purpose

  func run(with hasher: any SecretHasher) throws(CryptoError) -> SecretVerdict {
    let context = name.bytes
    if case .set = purpose { return .right(verifier: try hasher.verifier(of: secret.bytes, context: context)) }
    let match = try secret.match(verifier ?? hasher.standInVerifier, context: context, with: hasher)
    guard match != .wrong, let verifier else { return .wrong }
    switch purpose {
    case .change(to: nil): return .right(verifier: nil)
    case .change(to: let newSecret?): return .right(verifier: try hasher.verifier(of: newSecret, context: context))
    case .attempt, .set:
      let isOutdated = match == .asSent ? true : try hasher.needsRehash(verifier)
      return .right(verifier: isOutdated ? try hasher.verifier(of: secret.bytes, context: context) : nil)
    }
  }
}

/// The result of a check.
enum SecretVerdict: Sendable, Equatable {
  case wrong
  /// - Parameter verifier: the one to store: the new secret's, or this one's where its own is outdated.
  case right(verifier: [UInt8]?)

  var isRight: Bool {
    if case .right = self { true } else { false }
  }

  var verifier: [UInt8]? {
    if case .right(let verifier) = self { verifier } else { nil }
  }
}
