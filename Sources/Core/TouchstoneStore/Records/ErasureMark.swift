// How a binding ticket for a profile without a record finds out that the profile was erased since.

internal import Crypto
internal import Encodings

extension ProfileRecord {
  /// In front of an erasure mark's id. No profile can have such an id, since identifiers hold no control characters.
  package static let erasureMarkPrefix: UInt8 = 4

  /// The id of the record whose version is the profile's erasure mark: 0 if there is none.
  ///
  /// Each erasure of the profile, known or not, raises the mark, to no less than the version of the record that it
  /// removed. The profile's next first version is above it.
  ///
  /// An application's profiles whose ids have the same first byte of their SHA-256 share a mark: a mark for each id
  /// would keep what an erasure removes. An erasure meets one in 256 of the application's tickets that rest on a mark.
  public static func erasureMarkID(forProfile profileID: String) -> String {
    let byte = SHA256.hash(of: Array(profileID.utf8)).first { _ in true } ?? 0
    return String(decoding: [erasureMarkPrefix], as: UTF8.self) + Hexadecimal.text([byte])
  }
}

extension ProfileErasure {
  /// It rises by one before the erasure looks for what it removes.
  package var markID: String { ProfileRecord.erasureMarkID(forProfile: profileID) }
}
