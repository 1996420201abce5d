internal import Glibc
internal import LoadScenarios

/// An open phone file (`--phones`), closed to all users but its owner. Other runs cannot use it meanwhile, because they
/// would lock or change this run's phones.
struct PhoneStore {
  let path: String
  /// `nil`: the file is new.
  private(set) var file: PhoneFile?
  /// Holds the lock, as long as the process lives.
  private let descriptor: Int32

  private static let mode: mode_t = 0o600
  private static let ofOthers: mode_t = 0o077

  init(opening path: String, application: String) throws(LoadError) {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, Self.mode)
    self.path = path
    guard descriptor >= 0 else { throw Self.error(path, "cannot be opened: \(Self.problem)") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Self.error(path, "is not a file")
    }
    guard status.st_mode & Self.ofOthers == 0 else {
      throw Self.error(path, "has private keys, and other users can open it: run chmod 600 on it")
    }
    // The other run may have put another file in its place since.
    var named = stat()
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, stat(path, &named) == 0, named.st_ino == status.st_ino else {
      throw Self.error(path, "is in use by another run")
    }
    guard let text = TextFile.read(path) else { throw Self.error(path, "cannot be read: \(Self.problem)") }
    guard !text.isEmpty else { return }
    let file: PhoneFile
    do throws(PhoneFile.Fault) {
      file = try PhoneFile(json: text)
    } catch {
      throw Self.error(path, "cannot be used: \(error)")
    }
    guard file.application == application else {
      throw Self.error(
        path,
        "has phones of application \(file.application.debugDescription), and the scenario's is \(application.debugDescription)"
      )
    }
    self.file = file
  }

  /// Makes sure that the file can be written, before anything is bound for it.
  func reserve() throws(LoadError) {
    let new = try openNew()
    close(new)
    unlink(path + Self.newSuffix)
  }

  /// Writes in one step: a crash leaves the file as it was, or as it will be.
  func write(_ file: PhoneFile) throws(LoadError) {
    let new = try openNew()
    // The next file is locked, too, until the process ends.
    var text = file.json
    let isWritten = text.withUTF8 { Self.write($0, to: new) } && fsync(new) == 0 && flock(new, LOCK_EX | LOCK_NB) == 0
    guard isWritten, rename(path + Self.newSuffix, path) == 0 else {
      throw LoadError(exitCode: 73, description: "\(path) cannot be written: \(Self.problem)")
    }
  }

  private static let newSuffix = ".new"

  private func openNew() throws(LoadError) -> Int32 {
    let new = open(path + Self.newSuffix, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, Self.mode)
    guard new >= 0, fchmod(new, Self.mode) == 0 else {
      throw LoadError(exitCode: 73, description: "\(path) cannot be written: \(Self.problem)")
    }
    return new
  }

  private static func write(_ bytes: UnsafeBufferPointer<UInt8>, to descriptor: Int32) -> Bool {
    var rest = UnsafeRawBufferPointer(bytes)
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      guard count > 0 else { return false }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
    return true
  }

  func error(_ message: String) -> LoadError { Self.error(path, message) }

  private static func error(_ path: String, _ message: String) -> LoadError {
    .usage("\(path) \(message)")
  }

  private static var problem: String { String(cString: strerror(errno)) }
}
