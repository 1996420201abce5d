// Google's list of revoked certificates of Android's hardware.

internal import FoundationEssentials

/// As android.googleapis.com/attestation/status publishes it.
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
    package var description: String { "the entry \(key.debugDescription) is no serial number in hexadecimal digits" }
  }

  package init(from decoder: any Decoder) throws {
    let entries = try decoder.container(keyedBy: Key.self).decode([String: Entry].self, forKey: .entries)
    // The first in their order, so that the same list gets the same answer.
    if let key = entries.keys.filter({ !Self.isSerialNumber($0) }).min() {
      throw UnreadableEntry(key: String(key.prefix(Self.maximumDigits)))
    }
    serialNumbers = Set(
      entries.keys.map { key in
        let digits = key.lowercased().drop { $0 == "0" }
        return digits.isEmpty ? "0" : String(digits)
      })
  }

  /// RFC 5280 §4.1.2.2 allows 20 bytes; some authorities write more.
  private static let maximumDigits = 64

  private static func isSerialNumber(_ text: String) -> Bool {
    1...maximumDigits ~= text.utf8.count && text.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
  }

  package init(json: [UInt8]) throws {
    self = try JSONDecoder().decode(RevocationList.self, from: Data(json))
  }
}
