// Where the service is, and as whom to call it.

internal import ArgumentParser
internal import DispatchRPC
internal import Glibc
internal import TouchstoneClient

struct Destination: ParsableArguments {
  @Option(help: ArgumentHelp("The service.", valueName: "host:port"))
  var target = "127.0.0.1:7443"

  @Option(help: ArgumentHelp("Call over TLS, and trust a service that these vouch for (PEM).", valueName: "file"))
  var tlsAuthorities: String?

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
    if tlsCertificate != nil, tlsAuthorities == nil {
      throw ValidationError("--tls-certificate needs --tls-authorities")
    }
  }

  func configuration() throws(LoadError) -> TouchstoneClientConfiguration {
    var configuration = TouchstoneClientConfiguration(target: target)
    do throws(RPCTLSError) {
      configuration.tls = try tlsAuthorities.map { authorities throws(RPCTLSError) in
        try RPCClientTLS(authorities: .file(authorities), identity: identity)
      }
    } catch {
      throw LoadError(description: "TLS: \(error)")
    }
    if let keyFile {
      configuration.metadata.append("authorization", "Bearer \(try Self.readKey(keyFile))")
    }
    return configuration
  }

  private var identity: RPCClientTLS.Identity? {
    guard let tlsCertificate, let tlsKey else { return nil }
    return RPCClientTLS.Identity(certificateChainFile: tlsCertificate, privateKeyFile: tlsKey)
  }

  /// The first line. From a file, since everybody on the machine sees a process's arguments.
  private static func readKey(_ path: String) throws(LoadError) -> String {
    guard let file = fopen(path, "r") else {
      throw LoadError(description: "\(path): \(String(cString: strerror(errno)))")
    }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 256)
    let count = fread(&line, 1, line.count, file)
    return String(decoding: line.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}
