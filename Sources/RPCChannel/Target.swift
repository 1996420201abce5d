// Where the service is: "host:port" or "[IPv6 address]:port".

internal import DispatchRPC

struct TargetError: Error {
  let reason: String
}

enum Target {
  /// Blocks on the resolver.
  static func addresses(of target: String) throws(TargetError) -> [SocketAddress] {
    guard let (host, port) = parse(target) else {
      throw TargetError(reason: "the target '\(target)' is not host:port")
    }
    let addresses: [SocketAddress]
    do throws(SocketAddressError) {
      addresses = try SocketAddress.resolve(host: host, port: port)
    } catch {
      throw TargetError(reason: "\(host): \(error.reason)")
    }
    guard !addresses.isEmpty else { throw TargetError(reason: "\(host): no address") }
    return addresses
  }

  static func parse(_ target: String) -> (host: String, port: UInt16)? {
    guard let colon = target.lastIndex(of: ":"), let port = UInt16(target[target.index(after: colon)...]) else {
      return nil
    }
    var host = target[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : (String(host), port)
  }
}
