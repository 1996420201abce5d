internal import Encodings
internal import FoundationEssentials

/// The content of a phone file, which keeps phones between runs. It has private keys.
package struct PhoneFile: Codable, Sendable {
  package struct Phone: Codable, Hashable, Sendable {
    /// The private key: 32 bytes, base64url.
    package var key: String
    package var bindingID: String
    package var profileID: String
    package var share: PhoneShare

    package init(key: [UInt8], bindingID: String, profileID: String, share: PhoneShare) {
      (self.key, self.bindingID, self.profileID, self.share) = (Base64URL.encode(key), bindingID, profileID, share)
    }

    package var keyBytes: [UInt8]? { Base64URL.decode(key) }

    private enum CodingKeys: String, CodingKey {
      case key, share
      case bindingID = "binding_id"
      case profileID = "profile_id"
    }
  }

  package private(set) var format = PhoneFile.format
  package private(set) var version = PhoneFile.currentVersion
  package var application: String
  /// The service's address and its signing keys when the file was written: for messages, and for callers that may not
  /// read bindings.
  package var target: String
  package var signingKeys: [String]
  package var phones: [Phone] = []

  package static let format = "touchstone-load phones"
  /// It rises when a file that an earlier version reads would mislead it.
  package static let currentVersion = 1

  package init(application: String, target: String, signingKeys: [String]) {
    (self.application, self.target, self.signingKeys) = (application, target, signingKeys)
  }

  private enum CodingKeys: String, CodingKey {
    case format, version, application, target, phones
    case signingKeys = "signing_keys"
  }

  private struct Header: Codable {
    var format: String
    var version: Int
  }

  package enum Fault: Error, Hashable, CustomStringConvertible {
    case noPhoneFile
    case version(Int)

    package var description: String {
      switch self {
      case .noPhoneFile: "it is no phone file of touchstone-load"
      case .version(let version): "it has version \(version), and this program reads \(PhoneFile.currentVersion)"
      }
    }
  }

  /// Reads a file.
  package init(json: String) throws(Fault) {
    let decoder = JSONDecoder()
    let data = Data(json.utf8)
    guard let header = try? decoder.decode(Header.self, from: data), header.format == Self.format else {
      throw .noPhoneFile
    }
    guard header.version == Self.currentVersion else { throw .version(header.version) }
    guard let file = try? decoder.decode(PhoneFile.self, from: data) else { throw .noPhoneFile }
    self = file
  }

  package var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else { preconditionFailure("a phone file has a value that JSON lacks") }
    return String(decoding: data, as: UTF8.self) + "\n"
  }

  /// The number of phones that are missing, by share.
  package func missing(from needs: [PhoneShare: Int]) -> [PhoneShare: Int] {
    let counts = Dictionary(grouping: phones, by: \.share).mapValues(\.count)
    return needs.reduce(into: [:]) { missing, need in
      let count = need.value - (counts[need.key] ?? 0)
      if count > 0 { missing[need.key] = count }
    }
  }
}
