// The service's addresses, and the credentials to call it with.

internal import ArgumentParser
internal import DispatchRPC
internal import TouchstoneClient

struct Destination: ParsableArguments {
  @Option(
    name: .customLong("target"),
    help: ArgumentHelp(
      "The service; several addresses with commas or by several options. (default: 127.0.0.1:7443)",
      valueName: "host:port"))
  var addresses: [String] = []

  @Flag(help: "Call over TLS, and trust what this machine trusts.")
  var tls = false

  @Option(help: ArgumentHelp("Call over TLS, and trust a service that these vouch for (PEM).", valueName: "file"))
  var tlsAuthorities: String?

  @Option(
    help: ArgumentHelp("What the service's certificate is for, if that is not the address's host.", valueName: "name"))
  var tlsServerName: String?

  @Option(help: ArgumentHelp("The certificate to call with (PEM).", valueName: "file"))
  var tlsCertificate: String?

  @Option(help: ArgumentHelp("Its key (PEM).", valueName: "file"))
  var tlsKey: String?

  @Option(
    help: ArgumentHelp(
      "A file with the key to call with, as `touchstone callers new-key` prints it.", valueName: "file"))
  var keyFile: String?

  func validate() throws {
    if (tlsCertificate == nil) != (tlsKey == nil) {
      throw ValidationError("--tls-certificate and --tls-key go together")
    }
    guard tls || tlsAuthorities != nil || (tlsCertificate == nil && tlsServerName == nil) else {
      throw ValidationError("--tls-certificate and --tls-server-name need --tls or --tls-authorities")
    }
    if let target = targets.first(where: { !$0.contains(":") || $0.hasSuffix(":") }) {
      throw ValidationError("--target: '\(target)' is not host:port")
    }
  }

  /// Each address once.
  var targets: [String] {
    let named = addresses.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    return named.isEmpty
      ? ["127.0.0.1:7443"] : named.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  func clientTLS() throws(LoadError) -> RPCClientTLS? {
    guard tls || tlsAuthorities != nil else { return nil }
    do throws(RPCTLSError) {
      return try RPCClientTLS(
        authorities: tlsAuthorities.map { .file($0) } ?? .system, serverName: tlsServerName, identity: identity)
    } catch {
      throw LoadError.usage("TLS: \(error)")
    }
  }

  /// `authorization`, if there is a key.
  func metadata() throws(LoadError) -> Metadata {
    var metadata = Metadata()
    if let keyFile { metadata.append("authorization", "Bearer \(try Self.readKey(keyFile))") }
    return metadata
  }

  private var identity: RPCClientTLS.Identity? {
    guard let tlsCertificate, let tlsKey else { return nil }
    return RPCClientTLS.Identity(certificateChainFile: tlsCertificate, privateKeyFile: tlsKey)
  }

  /// The first line. From a file, since every user of the machine sees a process's arguments.
  private static func readKey(_ path: String) throws(LoadError) -> String {
    guard let text = TextFile.read(path) else { throw .unreadable(path) }
    return String(text.prefix { $0 != "\n" })
  }
}
