// `tls:` of the configuration: the service's certificate, and the authorities of its callers' certificates.

internal import DispatchRPC
internal import SettingFiles

/// For all TCP listeners. Unix sockets have no TLS.
struct TLSSettings: Hashable {
  /// PEM files.
  var certificate = ""
  var key = ""
  /// `nil`: the service requests no certificates.
  var clientAuthorities: String?
  var requiresClientCertificates = false

  /// By setting, the files that are read.
  var namedFiles: [(setting: String, path: String)] { namedFiles(in: "tls") }

  /// The setting that names the file.
  fileprivate func setting(naming file: String) -> String? { namedFiles.first { $0.path == file }?.setting }

  /// Write access to one of the files would allow to call, or to be called, under a false identity.
  func requireProtection() throws(RPCTLSError) {
    for (_, path) in namedFiles {
      do throws(FileError) {
        try TouchstoneServer.requireProtection(ofFile: path)
      } catch {
        throw RPCTLSError(file: path, reason: error.message)
      }
    }
  }

  /// Reads the files.
  fileprivate func load() throws(RPCTLSError) -> RPCServerTLS {
    try requireProtection()
    return try RPCServerTLS(certificateChainFile: certificate, privateKeyFile: key, clients: clients)
  }

  private var clients: RPCServerTLS.Clients {
    guard let clientAuthorities else { return .anonymous }
    return requiresClientCertificates
      ? .required(authoritiesFile: clientAuthorities) : .optional(authoritiesFile: clientAuthorities)
  }
}

extension TLSSettings: ConfigurationSection {
  static var keys: [ConfigurationKey<TLSSettings>] {
    ConfigurationKey(
      "certificate", .path, to: \.certificate, isRequired: true, need: "certificate, a PEM file",
      "PEM: the service's certificate first, then its intermediates.")
    ConfigurationKey(
      "key", .path, to: \.key, isRequired: true, need: "key, a PEM file",
      "PEM: its key, without a password and closed to other users.")
    ConfigurationKey(
      "client_authorities", .path, to: \.clientAuthorities, default: .words("no certificate is requested"),
      "PEM: the authorities of callers' certificates.")
    ConfigurationKey(
      "client_certificates", .word([("required", true), ("optional", false)]), to: \.requiresClientCertificates,
      "Whether every caller must show a certificate.")
  }

  func check(_ written: WrittenSection, with reader: inout SettingReader) {
    guard clientAuthorities == nil, let entry = written.entry("client_certificates") else { return }
    reader.refuse(entry.key.place, "tls.client_certificates needs tls.client_authorities, which vouch for them")
  }
}

extension ProcessConfiguration {
  /// Returns `nil` without `tls:`.
  func loadTLS() throws(Failure) -> RPCServerTLS? {
    do throws(RPCTLSError) {
      return try tls?.load()
    } catch {
      guard let file = error.file, let setting = tls?.setting(naming: file) else { throw Failure(error) }
      throw failure(of: setting, at: file, error.reason)
    }
  }
}
