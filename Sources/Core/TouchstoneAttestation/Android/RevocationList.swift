internal import Encodings

/// Google's list of revoked certificates of Android's hardware, as android.googleapis.com/attestation/status publishes
/// it.
package struct RevocationList: Decodable, Sendable {
  /// In lower-case hexadecimal, without zeros in front, as `Certificate.serialNumber`.
  package let serialNumbers: Set<String>

  private enum Key: CodingKey {
    case entries
  }

  /// Any entry revokes: REVOKED and SUSPENDED alike.
  private struct Entry: Decodable {}

  /// An entry that no certificate's serial number can equal. It would revoke nothing, and nobody would notice.
  package struct UnreadableEntry: Error, CustomStringConvertible {
    package let key: String
    package let isTooLong: Bool
    package var description: String {
      let fault = isTooLong ? "is longer than a serial number" : "is no serial number in hexadecimal digits"
      return "the entry \(key.debugDescription) \(fault)"
    }
  }

  private struct MissingEntries: Error, CustomStringConvertible {
    var description: String { "it has no object \"entries\"" }
  }

  /// A list within a case of `touchstone attestation check`.
  package init(from decoder: any Decoder) throws {
    let entries = try decoder.container(keyedBy: Key.self).decode([String: Entry].self, forKey: .entries)
    try self.init(entries.keys)
  }

  /// Reads the list strictly: if a name stood twice, one of the two members would revoke nothing, unnoticed.
  package init(json: [UInt8]) throws {
    guard case .object(let members) = try JSONReader.read(json), case .object(let entries)? = members["entries"] else {
      throw MissingEntries()
    }
    try self.init(entries.keys)
  }

  private init(_ keys: some Collection<String>) throws {
    // The first in their order, so that the same list gets the same answer.
    if let key = keys.filter({ !Self.isSerialNumber($0) }).min() {
      throw UnreadableEntry(
        key: String(key.prefix(Self.maximumDigits)), isTooLong: key.utf8.count > Self.maximumDigits)
    }
    serialNumbers = Set(
      keys.map { key in
        let digits = key.lowercased().drop { $0 == "0" }
        return digits.isEmpty ? "0" : String(digits)
      })
  }

  /// RFC 5280 §4.1.2.2 allows 20 bytes; some authorities write more.
  private static let maximumDigits = 64

  private static func isSerialNumber(_ text: String) -> Bool {
    1...maximumDigits ~= text.utf8.count && text.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
  }
}
