// The service's addresses, and the credentials to call it with: options that both programs have.

package import ArgumentParser
package import DispatchRPC

package struct Destination: ParsableArguments, Sendable {
  @Option(
    name: .customLong("target"),
    help: ArgumentHelp(
      "The service; several addresses with commas or by several options. (default: 127.0.0.1:7443)",
      valueName: "host:port"))
  package var addresses: [String] = []

  @Flag(help: "Call over TLS, and trust what this machine trusts.")
  package var tls = false

  @Option(
    help: ArgumentHelp("Call over TLS, and trust a service that these vouch for (PEM).", valueName: "file"),
    completion: .file())
  package var tlsAuthorities: String?

  @Option(
    help: ArgumentHelp("What the service's certificate is for, if that is not the address's host.", valueName: "name"))
  package var tlsServerName: String?

  @Option(help: ArgumentHelp("The certificate to call with (PEM).", valueName: "file"), completion: .file())
  package var tlsCertificate: String?

  @Option(help: ArgumentHelp("Its key (PEM).", valueName: "file"), completion: .file())
  package var tlsKey: String?

  @Option(
    help: ArgumentHelp(
      "A file with the key to call with, as `touchstone callers new-key` prints it.", valueName: "file"),
    completion: .file())
  package var keyFile: String?

  package init() {}

  package func validate() throws {
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
  package var targets: [String] {
    let named = addresses.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    return named.isEmpty
      ? ["127.0.0.1:7443"] : named.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// `nil`: plaintext.
  package func clientTLS() throws(RPCTLSError) -> RPCClientTLS? {
    guard tls || tlsAuthorities != nil else { return nil }
    return try RPCClientTLS(
      authorities: tlsAuthorities.map { .file($0) } ?? .system, serverName: tlsServerName, identity: identity)
  }

  /// `authorization`, if there is a key: the first line of its file. From a file, because every user of the machine
  /// sees a process's arguments. `nil`: the line is no key.
  ///
  /// - Parameter read: returns a file's text.
  package func metadata<Failure: Error>(
    reading read: (_ path: String) throws(Failure) -> String
  ) throws(Failure) -> Metadata? {
    var metadata = Metadata()
    guard let keyFile else { return metadata }
    let key = try read(keyFile).prefix { !$0.isNewline }
    return !key.isEmpty && metadata.append("authorization", "Bearer \(key)") ? metadata : nil
  }

  private var identity: RPCClientTLS.Identity? {
    guard let tlsCertificate, let tlsKey else { return nil }
    return RPCClientTLS.Identity(certificateChainFile: tlsCertificate, privateKeyFile: tlsKey)
  }
}
