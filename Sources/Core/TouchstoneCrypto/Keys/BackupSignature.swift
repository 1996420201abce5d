import Crypto
internal import Encodings
import Glibc

/// The signature of a backup by an audit key, which is the content of the file beside it. Without it, an attacker that
/// may write to a backup could make any phone anybody's.
///
///     touchstone backup 1
///     sha256 HEX
///     audit key ID
///     signature HEX
public struct BackupSignature: Sendable, Hashable {
  private static let title = "touchstone backup 1"
  /// Four lines take some 300 bytes.
  public static let maximumBytes = 1_024
  private static let chunkBytes = 1 << 20

  /// SHA-256 of the backup's bytes.
  public let digest: [UInt8]
  public let keyID: String
  public let signature: [UInt8]

  /// `nil` if no key signs yet at that time.
  ///
  /// - Parameter time: Unix seconds.
  public init?(digest: [UInt8], by keys: AuditKeys, at time: Int64) {
    guard let signed = keys.sign(Self.message(digest), at: time) else { return nil }
    (self.digest, keyID, signature) = (digest, signed.keyID, signed.signature)
  }

  /// `nil` if the text is none.
  public init?(text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 5, lines[0] == Self.title, lines[4].isEmpty,
      let digest = Self.bytes(lines[1], after: "sha256 "), digest.count == SHA256.byteCount,
      lines[2].hasPrefix("audit key "), let signature = Self.bytes(lines[3], after: "signature ")
    else { return nil }
    (self.digest, keyID, self.signature) = (digest, String(lines[2].dropFirst("audit key ".count)), signature)
  }

  public var text: String {
    """
    \(Self.title)
    sha256 \(Hexadecimal.text(digest))
    audit key \(keyID)
    signature \(Hexadecimal.text(signature))

    """
  }

  public func check(by keys: AuditKeys) -> AuditVerifier.Finding {
    keys.check(signature, by: keyID, of: Self.message(digest))
  }

  /// Accounts in the audit log are signed by the same keys; none begins like this.
  private static func message(_ digest: [UInt8]) -> [UInt8] {
    Array("\(title)\n\(Hexadecimal.text(digest))\n".utf8)
  }

  /// Returns SHA-256 of the file's bytes; `nil` sets errno.
  public static func digest(ofFile path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var hash = SHA256()
    var buffer = [UInt8](repeating: 0, count: chunkBytes)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      guard count > 0 else { return hash.finalize().withUnsafeBytes { Array($0) } }
      buffer.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }

  private static func bytes(_ line: Substring, after name: String) -> [UInt8]? {
    guard line.hasPrefix(name) else { return nil }
    return Hexadecimal.bytes(inEitherCase: String(line.dropFirst(name.count)))
  }
}
