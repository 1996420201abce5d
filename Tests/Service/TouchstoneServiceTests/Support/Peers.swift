// The peers that call a service, and the callers that it knows.

import DispatchRPC
import TouchstoneCrypto

@testable import TouchstoneService

extension RPCPeer {
  /// As local as can be.
  static let unix = RPCPeer(address: (try? SocketAddress.unix(path: "/in-process"))!)
  static let loopback = RPCPeer(address: address("127.0.0.1"))
  /// In plaintext, over the network.
  static let stranger = RPCPeer(address: address("192.0.2.7"))
  /// Over TLS, without a certificate.
  static let encrypted = RPCPeer(address: address("192.0.2.7"), isEncrypted: true)

  static func certified(
    _ uris: [String] = [], dns: [String] = [], commonName: String? = nil, hasAlternativeNames: Bool = false
  ) -> RPCPeer {
    RPCPeer(
      address: address("192.0.2.7"),
      certificate: RPCPeerCertificate(
        uris: uris, dnsNames: dns, commonName: commonName, hasAlternativeNames: hasAlternativeNames),
      isEncrypted: true)
  }

  static func stranger(at host: String, port: UInt16 = 50_000) -> RPCPeer {
    RPCPeer(address: address(host, port: port))
  }

  private static func address(_ host: String, port: UInt16 = 50_000) -> SocketAddress {
    guard let address = try? SocketAddress.resolve(host: host, port: port).first else {
      preconditionFailure("\(host) is a number")
    }
    return address
  }
}

extension CallerDefinition {
  /// Everything, unless said otherwise.
  init(
    _ name: String, _ certificateName: CertificateName? = nil, keys: [String] = [],
    applications: ApplicationGrant = .all, methods: [MethodGrant] = [.all]
  ) {
    self.init(name: name)
    self.certificateName = certificateName
    self.keys = keys.compactMap { CallerKeyDigest(ofKey: $0) }
    self.applications = applications
    self.methods = methods
  }
}

/// Keys that only tests use.
enum TestKey {
  static let shop = CallerKey.make()
  static let bank = CallerKey.make()
  static let unknown = CallerKey.make()
}
