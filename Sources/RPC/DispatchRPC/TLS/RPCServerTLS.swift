import COpenSSL
import Synchronization

/// A server's side of TLS: its certificate, and whose certificates it wants. TLS 1.2 and 1.3. May serve several
/// listeners and servers: those of gRPC, over HTTP/2, and those of HTTP/1.1, whose clients need no certificate.
///
/// Clients resume their sessions for up to a day without showing their certificate again, and keep the identity that it
/// gave them; not once it or an authority of its chain has expired, nor after a reload that changed the authorities.
/// Nor does a connection outlive either: its client is asked to leave, and no call begins on it any more.
public final class RPCServerTLS: Sendable {
  /// The certificates that clients have to show.
  public enum Clients: Hashable, Sendable {
    /// No client is asked for a certificate.
    case anonymous
    /// A client that shows a certificate needs one of these authorities', as PEM.
    case optional(authoritiesFile: String)
    /// Each client needs one.
    case required(authoritiesFile: String)

    /// The same for an address whose clients are not all callers.
    fileprivate var ifShown: Clients {
      switch self {
      case .anonymous, .optional: self
      case .required(let file): .optional(authoritiesFile: file)
      }
    }
  }

  /// One for each protocol, with the same certificate.
  private struct Contexts {
    var http2: TLSContext
    var http1: TLSContext
    var http1WithCertificates: TLSContext
  }

  private let certificateChainFile: String
  private let privateKeyFile: String
  private let clients: Clients
  private let contexts: Mutex<Contexts>
  private let observers = Mutex<[@Sendable () -> Void]>([])
  let counters = TLSCounters()

  /// - Parameter certificateChainFile: PEM, the server's certificate first. RSA or ECDSA.
  /// - Parameter privateKeyFile: PEM without a password, closed to other users.
  public init(
    certificateChainFile: String, privateKeyFile: String, clients: Clients = .anonymous
  ) throws(RPCTLSError) {
    self.certificateChainFile = certificateChainFile
    self.privateKeyFile = privateKeyFile
    self.clients = clients
    contexts = Mutex(try Self.load(certificateChainFile, privateKeyFile, clients, previous: nil))
  }

  /// Returns the name of the authority that issued the certificate, if the chain's file seems to lack it: neither that
  /// file nor the one of clients' authorities has its certificate, and it is no root of this machine. Clients that do
  /// not trust that authority itself cannot verify the certificate then.
  public func missingIssuer() throws(RPCTLSError) -> String? {
    let authorities: TLSCertificateList? =
      switch clients {
      case .anonymous: nil
      case .optional(let file), .required(let file): try TLSCertificateList(file)
      }
    return try TLSCertificateList(certificateChainFile).unknownIssuer(besides: authorities)
  }

  /// Reads all files again: new connections get what they say now. All or nothing. Running connections stay as they
  /// are, but for those whose clients' authorities are gone. It reads files and checks signatures, so never call it on
  /// an event loop.
  public func reload() throws(RPCTLSError) {
    let old = current
    let new = try Self.load(certificateChainFile, privateKeyFile, clients, previous: old)
    contexts.withLock { $0 = new }
    guard !new.http2.hasSameAuthorities(as: old.http2) else { return }
    for observer in observers.withLock(\.self) { observer() }
  }

  /// `body` runs after each reload that changed the authorities of clients.
  func onAuthoritiesChanged(_ body: @escaping @Sendable () -> Void) {
    observers.withLock { $0.append(body) }
  }

  /// Returns true if a client whose chain `context` verified would be admitted now.
  func trusts(_ ssl: OpaquePointer, since context: TLSContext) -> Bool {
    let current = current
    return current.http2.hasSameAuthorities(as: context)
      || current.http1WithCertificates.hasSameAuthorities(as: context) || current.http2.verifiesClient(of: ssl)
  }

  /// Since the start.
  public var statistics: RPCTLSStatistics { counters.statistics }

  /// When the first certificate of the server's own chain ends, in seconds since 1970.
  public var certificateEnd: Int64 { Int64(current.http2.certificateEnd) }

  /// A new connection's transport, which takes the descriptor over; `nil` when there is no memory for it.
  func accept(_ descriptor: Int32, _ name: ApplicationProtocol) -> TLSTransport? {
    let contexts = current
    return switch name {
    case .http2: TLSTransport(accepting: descriptor, for: self, contexts.http2, counters)
    case .http1: TLSTransport(accepting: descriptor, for: self, contexts.http1, counters)
    case .http1WithCertificates:
      TLSTransport(accepting: descriptor, for: self, contexts.http1WithCertificates, counters)
    }
  }

  private var current: Contexts { contexts.withLock(\.self) }

  private static func load(
    _ certificateChainFile: String, _ privateKeyFile: String, _ clients: Clients, previous: Contexts?
  ) throws(RPCTLSError) -> Contexts {
    let identity = try TLSIdentity(
      certificateChainFile: certificateChainFile, privateKeyFile: privateKeyFile, for: .server)
    return Contexts(
      http2: try .server(.http2, identity: identity, clients: clients, previous: previous?.http2),
      http1: try .server(.http1, identity: identity, clients: .anonymous, previous: previous?.http1),
      http1WithCertificates: try .server(
        .http1WithCertificates, identity: identity, clients: clients.ifShown,
        previous: previous?.http1WithCertificates))
  }
}
