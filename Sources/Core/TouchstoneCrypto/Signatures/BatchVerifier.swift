/// Verifies the signatures of one pass of an event loop: several at once if build and CPU allow it, else one by one.
/// Gives the answers of `SignatureVerifier`.
public struct BatchVerifier: Sendable {
  /// The fastest that this build has for this CPU.
  public static let fastest = BatchVerifier(lanes: Self.accelerator)

  private let lanes: (any LaneVerifier)?
  /// Which verifier serves, for the log.
  public let name: String

  /// - Parameter lanes: `nil`: each signature is verified by itself.
  package init(lanes: (any LaneVerifier)?) {
    guard let lanes else {
      self.lanes = nil
      name = Self.nameOfSingle
      return
    }
    let isTrusted = Self.passesKnownAnswers(lanes)
    self.lanes = isTrusted ? lanes : nil
    name = isTrusted ? lanes.name : "\(Self.nameOfSingle), because \(lanes.name) failed its self-test"
  }

  private static let nameOfSingle = "swift-crypto"

  /// The number of signatures that are verified at once. A batch is best split between such groups.
  public var groupSize: Int { lanes?.laneCount ?? 1 }

  /// Returns the results in the order of the checks; malformed ones are `false`.
  public func verify(_ checks: [SignatureCheck]) -> [Bool] {
    guard let lanes else { return checks.map(SignatureVerifier.verify) }
    return stride(from: 0, to: checks.count, by: lanes.laneCount).flatMap { start in
      Self.verify(checks[start..<min(start + lanes.laneCount, checks.count)], by: lanes)
    }
  }

  /// At most `laneCount` checks.
  private static func verify(_ checks: ArraySlice<SignatureCheck>, by lanes: any LaneVerifier) -> [Bool] {
    guard checks.count >= lanes.minimumCount else { return checks.map(SignatureVerifier.verify) }
    let candidates = checks.map { SignatureLane($0) }
    let wellFormed = candidates.compactMap { $0 }
    var verdicts = (wellFormed.count >= lanes.minimumCount ? lanes.verify(wellFormed) : []).makeIterator()
    return zip(checks, candidates).map { check, candidate in
      // A refusing lane proves nothing: only swift-crypto refuses.
      let isRight = candidate != nil && verdicts.next() == true || SignatureVerifier.verifyP256(check)
      return isRight && SignatureVerifier.verifyOtherHalf(check)
    }
  }
}

extension BatchVerifier {
  /// The vector verifier that was compiled in, if this CPU can run it.
  package static var accelerator: (any LaneVerifier)? {
    #if ACCELERATED
      CryptoMB()
    #else
      nil
    #endif
  }

  /// Whether a verifier accepts a right signature in each lane and refuses a wrong one there.
  private static func passesKnownAnswers(_ lanes: any LaneVerifier) -> Bool {
    let right = SignatureLane(KnownAnswer.check(message: "sample"))
    let wrong = SignatureLane(KnownAnswer.check(message: "samplf"))
    guard let right, let wrong else { preconditionFailure("the vector of RFC 6979 is well-formed") }
    return [0, 1].allSatisfy { parity in
      let isRight = (0..<lanes.laneCount).map { $0 % 2 == parity }
      return lanes.verify(isRight.map { $0 ? right : wrong }) == isRight
    }
  }
}

/// RFC 6979, A.2.5: P-256 with SHA-256, the message "sample".
private enum KnownAnswer {
  static func check(message: String) -> SignatureCheck {
    do throws(CryptoError) {
      return try SignatureCheck(
        publicKey: P256PublicKey(bytes: publicKey), signature: signature, message: Array(message.utf8))
    } catch {
      preconditionFailure("the key of RFC 6979 is a point of P-256: \(error)")
    }
  }

  private static let publicKey: [UInt8] = [
    0x04,
    0x60, 0xfe, 0xd4, 0xba, 0x25, 0x5a, 0x9d, 0x31, 0xc9, 0x61, 0xeb, 0x74, 0xc6, 0x35, 0x6d, 0x68,
    0xc0, 0x49, 0xb8, 0x92, 0x3b, 0x61, 0xfa, 0x6c, 0xe6, 0x69, 0x62, 0x2e, 0x60, 0xf2, 0x9f, 0xb6,
    0x79, 0x03, 0xfe, 0x10, 0x08, 0xb8, 0xbc, 0x99, 0xa4, 0x1a, 0xe9, 0xe9, 0x56, 0x28, 0xbc, 0x64,
    0xf2, 0xf1, 0xb2, 0x0c, 0x2d, 0x7e, 0x9f, 0x51, 0x77, 0xa3, 0xc2, 0x94, 0xd4, 0x46, 0x22, 0x99,
  ]
  private static let signature: [UInt8] = [
    0xef, 0xd4, 0x8b, 0x2a, 0xac, 0xb6, 0xa8, 0xfd, 0x11, 0x40, 0xdd, 0x9c, 0xd4, 0x5e, 0x81, 0xd6,
    0x9d, 0x2c, 0x87, 0x7b, 0x56, 0xaa, 0xf9, 0x91, 0xc3, 0x4d, 0x0e, 0xa8, 0x4e, 0xaf, 0x37, 0x16,
    0xf7, 0xcb, 0x1c, 0x94, 0x2d, 0x65, 0x7c, 0x41, 0xd4, 0x36, 0xc7, 0xa1, 0xb6, 0xe2, 0x9f, 0x65,
    0xf3, 0xe9, 0x00, 0xdb, 0xb9, 0xaf, 0xf4, 0x06, 0x4d, 0xc4, 0xab, 0x2f, 0x84, 0x3a, 0xcd, 0xa8,
  ]
}
