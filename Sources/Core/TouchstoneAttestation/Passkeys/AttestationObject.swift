/// {fmt, attStmt, authData}, of WebAuthn and of App Attest alike (WebAuthn Level 3 §6.5.4).
struct AttestationObject {
  /// TPM statements with their chains have up to 8 KB; App Attest's with its receipt has 6.
  static let maximumBytes = 65_536

  let format: String
  let statement: CBORMap
  let authenticatorData: [UInt8]

  init(_ bytes: [UInt8], _ encoding: ProofEncoding = .strict) throws(ProofError) {
    guard bytes.count <= Self.maximumBytes else {
      throw ProofError(.malformedCBOR, "\(bytes.count) bytes, more than \(Self.maximumBytes)")
    }
    guard let map = try Self.item(bytes, encoding).map else { throw ProofError(.malformedStatement, "not a map") }
    guard let format = map["fmt"]?.text else { throw ProofError(.malformedStatement, "fmt is not a text") }
    guard let statement = map["attStmt"]?.map else { throw ProofError(.malformedStatement, "attStmt is not a map") }
    guard let authenticatorData = map["authData"]?.bytes else {
      throw ProofError(.malformedStatement, "authData is missing")
    }
    self.format = format
    self.statement = statement
    self.authenticatorData = authenticatorData
  }

  private static func item(_ bytes: [UInt8], _ encoding: ProofEncoding) throws(ProofError) -> CBOR {
    switch encoding {
    case .strict: return try CBORReader.read(bytes)
    case .tolerant:
      var reader = CBORReader(bytes)
      return try reader.next()
    }
  }
}
