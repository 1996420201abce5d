// evaluatedPolicyDomainState: opaque bytes that show an app that the enrolled biometrics changed.

internal import Crypto

enum DomainState {
  /// Depends only on the enrolled fingers and the salt, neither on their order nor on the history.
  /// - Returns: 32 bytes, `nil` if nothing is enrolled.
  static func digest(of enrolled: Set<String>, salt: [UInt8]) -> [UInt8]? {
    guard !enrolled.isEmpty else { return nil }
    var hash = SHA256()
    hash.update(data: salt)
    for template in enrolled.sorted() {
      // Each is digested separately, so that no two sets give the same bytes.
      SHA256.hash(data: Array(template.utf8)).withUnsafeBytes { hash.update(bufferPointer: $0) }
    }
    return Array(hash.finalize())
  }

  /// Keeps two apps from recognising one phone by its state.
  /// - Parameter format: rises if a new OS writes the state in another way, although no finger was enrolled or removed.
  static func salt(application: String, phoneSecret: [UInt8], format: UInt8) -> [UInt8] {
    Array(SHA256.hash(data: phoneSecret + [format] + Array(application.utf8)))
  }
}
