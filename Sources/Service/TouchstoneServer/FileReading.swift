// Reads whole files, up to a size.

internal import FilePermissions
internal import Glibc
internal import TouchstonePolicy

package struct FileError: Error {
  /// Follows the file's name: "cannot be read: No such file or directory".
  package var message: String

  init(message: String) {
    self.message = message
  }

  fileprivate init(errorNumber: Int32) {
    message = "cannot be read: \(String(cString: strerror(errorNumber)))"
  }
}

/// Which users may be able to change a file.
package enum FileTrust {
  /// Any user: the file's content is harmless.
  case anybody
  /// Only root and this process's user can change or replace the file.
  case ownersOnly
}

package func readFile(_ path: String, maximumBytes: Int, from trust: FileTrust = .anybody) throws(FileError) -> [UInt8]
{
  try readDatedFile(path, maximumBytes: maximumBytes, from: trust).bytes
}

/// Reads regular files only: a pipe could block the process.
func readDatedFile(
  _ path: String, maximumBytes: Int, from trust: FileTrust
) throws(FileError) -> (bytes: [UInt8], writtenAt: UnixTime) {
  let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
  guard file >= 0 else { throw FileError(errorNumber: errno) }
  defer { close(file) }
  var status = stat()
  guard fstat(file, &status) == 0 else { throw FileError(errorNumber: errno) }
  guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(message: "cannot be read: not a regular file") }
  // Checked by path: a user that can replace the file between open(2) and here could have done so before.
  if trust == .ownersOnly { try requireProtection(ofFile: path) }

  var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
  var count = 0
  while count < bytes.count {
    let step = bytes[count...].withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
    if step < 0, errno == EINTR { continue }
    guard step >= 0 else { throw FileError(errorNumber: errno) }
    guard step > 0 else { break }
    count += step
  }
  guard count <= maximumBytes else { throw FileError(message: "is larger than \(maximumBytes) bytes") }
  let modified = withUnsafeBytes(of: status.st_mtim, nanoseconds) / 1_000_000_000
  let seconds = min(max(modified, knownSeconds.lowerBound), knownSeconds.upperBound)
  let writtenAt = UnixTime(seconds: seconds)
  return (Array(bytes.prefix(count)), writtenAt)
}

/// The years 1970 to 9999. A file may bear any time, and no sum of this one and an age overflows.
private let knownSeconds: ClosedRange<Int64> = 0...253_402_300_799

/// Checks the file, and every directory on its path and on the path to which links lead. Files of a read-only mount,
/// such as a ConfigMap, are protected. If there is no file, reading it reports that.
package func requireProtection(ofFile path: String) throws(FileError) {
  if let violation = FileProtection.violation(at: path) { throw FileError(message: violation) }
  if let violation = FileProtection.violation(onTheWayTo: path) { throw FileError(message: violation) }
}

/// Whether users other than the owner and the group can read the file.
func isReadableByOthers(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
}
