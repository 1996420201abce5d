// The credentials to call the service with, or why there are none.

internal import DispatchRPC
internal import ServiceDestination

extension Destination {
  func access() throws(LoadError) -> (tls: RPCClientTLS?, metadata: Metadata) {
    let metadata = try metadata { path throws(LoadError) in
      guard let text = TextFile.read(path) else { throw .unreadable(path) }
      return text
    }
    guard let metadata else { throw .usage("--key-file: the first line of \(keyFile ?? "") is no key") }
    do throws(RPCTLSError) {
      return (try clientTLS(), metadata)
    } catch {
      throw .usage("TLS: \(error)")
    }
  }
}
