internal import SwiftASN1

/// One value in DER, as the ASN.1 inside certificates' extensions has it, on swift-asn1. If it cannot be read, its
/// functions throw the reason that its reader gave.
struct DERNode {
  let node: ASN1Node
  let reason: ProofError.Reason
  let encoding: ProofEncoding

  init(
    _ bytes: some Collection<UInt8>, or reason: ProofError.Reason, _ encoding: ProofEncoding = .strict
  ) throws(ProofError) {
    do {
      node = try DER.parse(Array(bytes))
    } catch {
      throw ProofError(reason, "not DER")
    }
    self.reason = reason
    self.encoding = encoding
  }

  private init(_ node: ASN1Node, in parent: DERNode) {
    self.node = node
    reason = parent.reason
    encoding = parent.encoding
  }

  func malformed(_ detail: String) -> ProofError { ProofError(reason, detail) }

  // MARK: Constructed

  func children(_ identifier: ASN1Identifier) throws(ProofError) -> [DERNode] {
    guard node.identifier == identifier, case .constructed(let nodes) = node.content else {
      throw malformed("not a \(identifier)")
    }
    return nodes.map { DERNode($0, in: self) }
  }

  func sequence() throws(ProofError) -> [DERNode] { try children(.sequence) }
  func set() throws(ProofError) -> [DERNode] { try children(.set) }

  /// The number of a context-specific tag; `nil`: it has another class.
  var tag: UInt? {
    node.identifier.tagClass == .contextSpecific ? node.identifier.tagNumber : nil
  }

  /// Returns the value in an explicit tag.
  func tagged() throws(ProofError) -> DERNode {
    guard case .constructed(let nodes) = node.content else { throw malformed("an empty tag") }
    let values = Array(nodes)
    guard values.count == 1 else { throw malformed("a tag with \(values.count) values") }
    return DERNode(values[0], in: self)
  }

  // MARK: Primitive

  private func content(_ identifier: ASN1Identifier) throws(ProofError) -> ArraySlice<UInt8> {
    guard node.identifier == identifier, case .primitive(let bytes) = node.content else {
      throw malformed("not a \(identifier)")
    }
    return bytes
  }

  func octets() throws(ProofError) -> [UInt8] { Array(try content(.octetString)) }

  /// Zero or greater, within 63 bits.
  func integer() throws(ProofError) -> Int { try number(.integer) }
  func enumerated() throws(ProofError) -> Int { try number(.enumerated) }

  private func number(_ identifier: ASN1Identifier) throws(ProofError) -> Int {
    let bytes = try content(identifier)
    guard let first = bytes.first, first < 0x80 else { throw malformed("an integer that is negative or empty") }
    // DER: no more bytes than needed.
    if first == 0, bytes.count > 1, bytes[bytes.startIndex + 1] < 0x80 {
      throw malformed("an integer with zeros before it")
    }
    guard bytes.count <= 8 || (bytes.count == 9 && first == 0) else { throw malformed("an integer too large") }
    guard let value = Int(exactly: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) else {
      throw malformed("an integer too large")
    }
    return value
  }

  func boolean() throws(ProofError) -> Bool {
    let bytes = Array(try content(.boolean))
    switch bytes {
    case [0x00]: return false
    case [0xFF]: return true
    // X.690, 8.2.2: without DER's rule, any octet but zero is true.
    case _ where bytes.count == 1 && encoding == .tolerant: return true
    default: throw malformed("a boolean that is neither 00 nor FF")
    }
  }

  /// The bytes of a bit string of whole bytes.
  func bits() throws(ProofError) -> [UInt8] {
    let bytes = try content(.bitString)
    guard bytes.first == 0 else { throw malformed("a bit string with spare bits") }
    return Array(bytes.dropFirst())
  }
}
