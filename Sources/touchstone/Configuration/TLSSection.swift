// `tls:` of the configuration: the service's certificate, and whose certificates it asks its callers for.

internal import DispatchRPC
internal import Glibc

/// Of all TCP listeners; a Unix socket never has it.
struct TLSSettings: Hashable {
  /// PEM files.
  var certificate: String
  var key: String
  /// `nil`: callers are not asked for certificates.
  var clientAuthorities: String?
  var requiresClientCertificates = false

  enum Key: String, CaseIterable {
    case certificate
    case key
    case clientAuthorities = "client_authorities"
    case clientCertificates = "client_certificates"
  }

  /// `nil` where something is wrong with it.
  init?(_ node: YAMLNode, with reader: inout SettingReader) {
    guard let entries = reader.mapping(node, "tls", of: Key.allCases.map(\.rawValue)) else { return nil }
    func path(_ key: Key) -> String? {
      entries.first { $0.key.name == key.rawValue }.flatMap { entry in
        reader.text(entry.value, "tls.\(key.rawValue)", bytes: 1...Int(PATH_MAX))
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
    guard let certificate = path(.certificate), let key = path(.key) else { return nil }
    self.certificate = certificate
    self.key = key
  }

  /// Whoever can change one of the files can call, or be called, as somebody else.
  func requireProtection() throws(RPCTLSError) {
    for path in [certificate, key, clientAuthorities].compactMap(\.self) {
      do throws(FileError) {
        try touchstone.requireProtection(ofFile: path)
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
  /// `nil` where it is not asked for.
  func loadTLS() throws(Failure) -> RPCServerTLS? {
    do throws(RPCTLSError) {
      return try tls?.load()
    } catch {
      throw Failure(error)
    }
  }
}
