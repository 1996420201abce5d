// The signatures of authorities that were verified before, so that each is verified once and not for each phone of a make.

internal import TouchstoneAttestation

/// A bounded set; the one that came first leaves it first.
struct KnownSignatures: Sendable {
  /// A few of each maker, and for keys that were provisioned remotely one of each phone, which come and go. About 128 KiB.
  static let maximumCount = 1_024

  private var signatures: Set<AuthoritySignature> = []
  /// As they came; a ring once it is full.
  private var order: [AuthoritySignature] = []
  private var oldest = 0

  var count: Int { signatures.count }

  func contains(_ signature: AuthoritySignature) -> Bool { signatures.contains(signature) }

  mutating func insert(_ signature: AuthoritySignature) {
    guard signatures.insert(signature).inserted else { return }
    guard order.count == Self.maximumCount else { return order.append(signature) }
    signatures.remove(order[oldest])
    order[oldest] = signature
    oldest = (oldest + 1) % Self.maximumCount
  }
}
