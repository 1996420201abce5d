// evaluatedPolicyDomainState: opaque bytes that tell an app that the enrolled biometrics are no longer the same.

internal import Crypto

enum DomainState {
  /// Depends on who is enrolled and on the salt, on nothing else: neither order nor history.
  /// - Returns: 32 bytes, `nil` where nothing is enrolled.
  static func digest(of enrolled: Set<String>, salt: [UInt8]) -> [UInt8]? {
    guard !enrolled.isEmpty else { return nil }
    var hash = SHA256()
    hash.update(data: salt)
    for template in enrolled.sorted() {
      // Each digested on its own, so that no two sets run together into the same bytes.
      SHA256.hash(data: Array(template.utf8)).withUnsafeBytes { hash.update(bufferPointer: $0) }
    }
    return Array(hash.finalize())
  }

  /// What keeps two apps from recognising one phone by its state.
  /// - Parameter format: rises where a new OS writes the state anew though nobody was enrolled or removed.
  static func salt(application: String, phoneSecret: [UInt8], format: UInt8) -> [UInt8] {
    Array(SHA256.hash(data: phoneSecret + [format] + Array(application.utf8)))
  }
}
