// The signatures of authorities that were verified before, so that each is verified once, and its certificate read
// once, and not for each phone of a make.

internal import TouchstoneAttestation

/// A bounded set; the one that came first leaves it first.
struct KnownSignatures: Sendable {
  /// A few of each maker, and for keys that were provisioned remotely one of each phone, which come and go. Some 4 MiB,
  /// for a certificate that was read takes many times its bytes.
  static let maximumCount = 256

  private var signatures: Set<AuthoritySignature> = []
  /// As they came; a ring once it is full.
  private var order: [AuthoritySignature] = []
  private var oldest = 0
  /// By their bytes.
  private var certificates: [[UInt8]: Certificate] = [:]

  var count: Int { signatures.count }

  func contains(_ signature: AuthoritySignature) -> Bool { signatures.contains(signature) }

  /// As it was read.
  func certificate(of der: [UInt8]) -> Certificate? { certificates[der] }

  mutating func insert(_ signature: AuthoritySignature) {
    guard signatures.insert(signature).inserted else { return }
    certificates[signature.certificate.der] = signature.certificate
    guard order.count == Self.maximumCount else { return order.append(signature) }
    signatures.remove(order[oldest])
    certificates[order[oldest].certificate.der] = nil
    order[oldest] = signature
    oldest = (oldest + 1) % Self.maximumCount
  }
}
