// `tls:` of the configuration: the service's certificate, and the authorities of its callers' certificates.

internal import DispatchRPC
internal import SettingFiles

/// For all TCP listeners. Unix sockets have no TLS.
struct TLSSettings: Hashable {
  /// PEM files.
  var certificate: String
  var key: String
  /// `nil`: the service requests no certificates.
  var clientAuthorities: String?
  var requiresClientCertificates = false

  enum Key: String, CaseIterable {
    case certificate
    case key
    case clientAuthorities = "client_authorities"
    case clientCertificates = "client_certificates"

    fileprivate var setting: String { "tls.\(rawValue)" }
  }

  /// Returns `nil` if there is an error in it.
  init?(_ node: YAMLNode, with reader: inout SettingReader) {
    guard let entries = reader.mapping(node, "tls", of: Key.names) else { return nil }
    func path(_ key: Key) -> String? {
      entries.first { $0.key.name == key.rawValue }.flatMap { entry in
        reader.path(entry.value, key.setting)
      }
    }
    for key in [Key.certificate, .key] where !entries.contains(where: { $0.key.name == key.rawValue }) {
      reader.refuse(node.place, "tls needs \(key.rawValue), a PEM file")
    }
    clientAuthorities = path(.clientAuthorities)
    if let entry = entries.first(where: { $0.key.name == Key.clientCertificates.rawValue }) {
      let words = [("required", true), ("optional", false)]
      requiresClientCertificates = reader.word(entry.value, "tls.client_certificates", among: words) ?? false
      if clientAuthorities == nil {
        reader.refuse(entry.key.place, "tls.client_certificates needs tls.client_authorities, which vouch for them")
      }
    }
    let (certificate, key) = (path(.certificate), path(.key))
    guard let certificate, let key else { return nil }
    self.certificate = certificate
    self.key = key
  }

  private var files: [(key: Key, path: String)] {
    [(.certificate, certificate), (.key, key)] + (clientAuthorities.map { [(.clientAuthorities, $0)] } ?? [])
  }

  /// By setting, the files that are read.
  var namedFiles: [(setting: String, path: String)] { files.map { ($0.key.setting, $0.path) } }

  /// The setting that names the file.
  fileprivate func setting(naming file: String) -> String? { files.first { $0.path == file }?.key.setting }

  /// Write access to one of the files would allow to call, or to be called, under a false identity.
  func requireProtection() throws(RPCTLSError) {
    for (_, path) in files {
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
