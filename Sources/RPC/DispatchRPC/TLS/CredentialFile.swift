import COpenSSL
import Glibc

/// The bytes of a file with certificates or a key, read once: what is checked is what is used. Wiped when released: it
/// may be a key.
struct CredentialFile: ~Copyable {
  /// A bundle of all public authorities has a quarter of it.
  private static let maxBytes = 1 << 20

  let path: String
  private let bytes: UnsafeMutableRawBufferPointer

  /// - Parameter isSecret: others than the owner and the group may neither read nor change it.
  init(_ path: String, isSecret: Bool = false) throws(RPCTLSError) {
    // A pipe without a writer would block.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw Self.failure(path) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw Self.failure(path) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw RPCTLSError(file: path, reason: "not a regular file") }
    guard !isSecret || status.st_mode & 0o007 == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw RPCTLSError(
        file: path,
        reason:
          "open to other users (mode \(mode)); take their permissions away (in a volume of Kubernetes: defaultMode)")
    }
    guard status.st_size <= Self.maxBytes else {
      throw RPCTLSError(file: path, reason: "larger than \(Self.maxBytes) bytes")
    }
    let bytes = try Self.read(file, path, count: Int(status.st_size))
    self.path = path
    self.bytes = bytes
  }

  deinit {
    OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    bytes.deallocate()
  }

  /// For OpenSSL's readers; valid during the call.
  func withBIO<Result, Failure>(
    _ body: (OpaquePointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { fatalError("out of memory") }
    defer { BIO_free(bio) }
    OpenSSLErrors.clear()
    defer { OpenSSLErrors.clear() }
    return try body(bio)
  }

  private static func read(
    _ file: Int32, _ path: String, count: Int
  ) throws(RPCTLSError) -> UnsafeMutableRawBufferPointer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    var filled = 0
    while filled < count {
      let part = Glibc.read(file, bytes.baseAddress! + filled, count - filled)
      guard part > 0 else {
        bytes.deallocate()
        throw part == 0 ? RPCTLSError(file: path, reason: "changed while it was read") : failure(path)
      }
      filled += part
    }
    return bytes
  }

  private static func failure(_ path: String) -> RPCTLSError {
    RPCTLSError(file: path, reason: String(cString: strerror(errno)))
  }
}
