// A backup as one stream, for `kubectl exec` and ssh: its signature, then the database.

internal import Glibc
internal import TouchstoneCrypto
internal import TouchstoneServer

struct BackupStream {
  /// In the place of a file's name: stdout or stdin.
  static let name = "-"

  let descriptor: Int32
  /// `nil`: a file of its own has it.
  let signature: BackupSignature?
  /// The first bytes after the signature.
  let first: [UInt8]

  /// - Parameter path: a backup, a stream that was kept in a file, or "-".
  init(reading path: String) throws(Failure) {
    let input = path == Self.name ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else {
      throw Failure(kind: .unwritableData, message: "\(path): cannot be read: \(String(cString: strerror(errno)))")
    }
    var bytes = [UInt8](repeating: 0, count: BackupSignature.maximumBytes)
    var count = 0
    while count < bytes.count {
      let step = bytes.withUnsafeMutableBytes { read(input, $0.baseAddress! + count, $0.count - count) }
      if step < 0, errno == EINTR { continue }
      guard step > 0 else { break }
      count += step
    }
    let end = bytes[..<count].indices.filter { bytes[$0] == UInt8(ascii: "\n") }.dropFirst(3).first.map { $0 + 1 } ?? 0
    descriptor = input
    signature = String(validating: bytes[..<end], as: UTF8.self).flatMap { BackupSignature(text: $0) }
    first = Array(bytes[(signature == nil ? 0 : end)..<count])
  }
}
