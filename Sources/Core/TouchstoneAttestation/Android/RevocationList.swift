// Google's list of revoked certificates of Android's hardware.

internal import FoundationEssentials

/// As android.googleapis.com/attestation/status publishes it.
package struct RevocationList: Decodable, Sendable {
  /// In lower-case hexadecimal, without zeros in front.
  package let serialNumbers: Set<String>

  private enum Key: CodingKey {
    case entries
  }

  /// Any entry revokes: REVOKED and SUSPENDED alike.
  private struct Entry: Decodable {}

  package init(from decoder: any Decoder) throws {
    let entries = try decoder.container(keyedBy: Key.self).decode([String: Entry].self, forKey: .entries)
    serialNumbers = Set(entries.keys.map { String($0.lowercased().drop { $0 == "0" }) })
  }

  package init(json: [UInt8]) throws {
    self = try JSONDecoder().decode(RevocationList.self, from: Data(json))
  }
}
