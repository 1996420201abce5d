// HOST:PORT, as a flag or the configuration gives it.

internal import DispatchRPC

struct Endpoint {
  var host: String
  var port: UInt16

  /// "127.0.0.1:7443", "localhost:0", "[::1]:7443".
  init(parsing text: String) throws(Failure) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw Failure(status: .badConfiguration, message: "\"\(text)\" is not HOST:PORT")
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else { throw Failure(status: .badConfiguration, message: "\"\(text)\" names no host") }
    self.host = String(host)
    self.port = port
  }

  /// The first address that the name stands for.
  func resolved() throws(Failure) -> SocketAddress {
    let addresses: [SocketAddress]
    do throws(SocketAddressError) {
      addresses = try SocketAddress.resolve(host: host, port: port)
    } catch {
      throw Failure(status: .cannotListen, message: "\(host): \(error.reason)")
    }
    guard let address = addresses.first else {
      throw Failure(status: .cannotListen, message: "\(host) has no address")
    }
    return address
  }
}
