// The Dispatch sources of a connection's socket.

internal import CPostgres
internal import Dispatch
internal import Glibc

extension PostgresConnection {
  /// A duplicate for the sources: libpq closes its socket as soon as it finds it dead, and the next connection would get the
  /// same number while Dispatch still uses it for the old one.
  func duplicateSocket() -> Int32? {
    let socket = fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0)
    return socket >= 0 ? socket : nil
  }

  func watchSocket() -> Bool {
    guard let socket = duplicateSocket() else { return false }
    watchedSocket = socket
    let read = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
    read.setEventHandler { [unowned self] in receive() }
    read.setCancelHandler { [self] in sourceEnded() }
    let write = DispatchSource.makeWriteSource(fileDescriptor: socket, queue: queue)
    write.setEventHandler { [unowned self] in flush() }
    write.setCancelHandler { [self] in sourceEnded() }
    openSources += 2
    readSource = read
    writeSource = write
    read.activate()
    return true
  }

  func resumeWriting() {
    guard !isWriting else { return }
    isWriting = true
    if isWriteSourceActive {
      writeSource?.resume()
    } else {
      isWriteSourceActive = true
      writeSource?.activate()
    }
  }

  func suspendWriting() {
    guard isWriting else { return }
    isWriting = false
    writeSource?.suspend()
  }
}
