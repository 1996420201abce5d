import COpenSSL

/// OpenSSL's error queue, one per thread: emptied before each call that may fill it and after each that did.
enum OpenSSLErrors {
  /// Mostly there is nothing to clear, and to look is a tenth of the work.
  static func clear() {
    if ERR_peek_error() != 0 { ERR_clear_error() }
  }

  /// Returns the first error, of which the others are consequences. It is one of OpenSSL's own texts, and never
  /// contains bytes of a peer or of a key.
  static func take() -> String? {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0, let text = ERR_reason_error_string(code) else { return nil }
    return String(cString: text)
  }

  /// The first error in the queue is that the peer has shown no certificate, although one is required.
  static var isMissingCertificate: Bool {
    let code = ERR_peek_error()
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE
  }

  /// The file ended where another PEM block might have begun; every reading of all blocks ends so.
  static var isEndOfPEM: Bool {
    let code = ERR_peek_last_error()
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE
  }
}

/// An error that names the file at fault, if there is one, and never quotes a file.
public struct RPCTLSError: Error, Hashable, Sendable, CustomStringConvertible {
  public var file: String?
  public var reason: String

  public init(file: String? = nil, reason: String) {
    self.file = file
    self.reason = reason
  }

  public var description: String {
    if let file { "\(file): \(reason)" } else { reason }
  }
}
