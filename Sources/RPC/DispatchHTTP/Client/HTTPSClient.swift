// One request over HTTPS, to a server that is not ours. Blocks: call it on a thread of its own, never on an event loop.

package import DispatchRPC
internal import Glibc

/// Strict, because what it calls may lie: TLS with a verified name, no redirection, no proxy, one deadline for all of
/// it, and bounds for everything that comes. The connection goes to the address that was checked.
package struct HTTPSClient: Sendable {
  /// From the look-up to the last byte. A person waits for the answer. The resolver of the system may take longer.
  package static let timeout = Duration.seconds(10)
  /// Addresses of a name that are tried.
  private static let maximumAddresses = 4
  private static let bufferBytes = 16 << 10

  private let tls: RPCClientTLS
  /// Networks that are not global, and may be called all the same.
  private let listed: [AddressBlock]

  /// - Parameter authorities: those that may vouch for servers.
  package init(authorities: RPCClientTLS.Authorities, listed: [AddressBlock]) throws(RPCTLSError) {
    tls = try RPCClientTLS(http1: authorities)
    self.listed = listed
  }

  package struct Failure: Error, Sendable {
    /// For the operator of this service; holds nothing of an answer.
    package var reason: String
  }

  /// - Parameters:
  ///   - fields: others than Host, Content-Length, Connection and Accept-Encoding.
  ///   - body: `nil` for GET, a form for POST.
  package func send(
    to url: HTTPSURL, fields: [(name: String, value: String)] = [], body: [UInt8]? = nil
  ) throws(Failure) -> HTTPAnswer {
    let deadline = MonotonicTime.now().advanced(by: Self.timeout)
    var last = Failure(reason: "\(url.host) has no address that is global or listed")
    let addresses = try addresses(of: url)
    for (index, address) in addresses.enumerated() {
      // An address that does not answer leaves time for the others.
      let share = MonotonicTime.now().duration(to: deadline) / (addresses.count - index)
      guard let connection = try? connect(to: address, MonotonicTime.now().advanced(by: share)) else {
        last = Failure(reason: "\(address) does not take a connection")
        continue
      }
      return try exchange(url, fields, body, over: connection, deadline)
    }
    throw last
  }

  private func addresses(of url: HTTPSURL) throws(Failure) -> ArraySlice<SocketAddress> {
    do throws(SocketAddressError) {
      return try SocketAddress.resolve(host: url.hostWithoutBrackets, port: url.port)
        .filter { address in address.isGlobal || listed.contains { $0.contains(address) } }
        .prefix(Self.maximumAddresses)
    } catch {
      throw Failure(reason: "\(error.host): \(error.reason)")
    }
  }

  /// Returns the descriptor of a connected socket.
  private func connect(to address: SocketAddress, _ deadline: MonotonicTime) throws(Failure) -> Int32 {
    let descriptor = address.beginConnecting()
    guard descriptor >= 0 else { throw Failure(reason: "there is no socket") }
    do throws(Failure) {
      try wait(for: POLLOUT, descriptor, deadline)
      var code: Int32 = 0
      var length = socklen_t(MemoryLayout<Int32>.size)
      guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code == 0 else {
        throw Failure(reason: String(cString: strerror(code)))
      }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private func exchange(
    _ url: HTTPSURL, _ fields: [(name: String, value: String)], _ body: [UInt8]?, over descriptor: Int32,
    _ deadline: MonotonicTime
  ) throws(Failure) -> HTTPAnswer {
    guard let transport = tls.connectHTTP1(descriptor, authority: url.authority) else {
      close(descriptor)
      throw Failure(reason: "there is no memory for TLS")
    }
    defer { transport.close() }
    try shakeHands(transport, deadline)
    try send(Self.request(url, fields, body), over: transport, deadline)
    var parser = ResponseParser()
    var buffer = [UInt8](repeating: 0, count: Self.bufferBytes)
    while true {
      let result = buffer.withUnsafeMutableBytes { transport.receive(into: $0) }
      switch result {
      case .bytes(let count):
        do throws(ResponseParser.Malformed) {
          if let answer = try parser.take(buffer.prefix(count)) { return answer }
        } catch {
          throw Failure(reason: "\(url.host): \(error.reason)")
        }
      case .wouldBlock: try wait(for: POLLIN, descriptor, deadline)
      case .ended: throw Failure(reason: "\(url.host) closed the connection within an answer")
      case .failed(let reason): throw Failure(reason: "\(url.host): \(reason)")
      }
    }
  }

  private func shakeHands(_ transport: any Transport, _ deadline: MonotonicTime) throws(Failure) {
    while true {
      switch transport.handshake() {
      case .done: return
      case .wantsRead: try wait(for: POLLIN, transport.descriptor, deadline)
      case .wantsWrite: try wait(for: POLLOUT, transport.descriptor, deadline)
      case .failed(let failure): throw Failure(reason: failure.reason)
      }
    }
  }

  private func send(_ bytes: [UInt8], over transport: any Transport, _ deadline: MonotonicTime) throws(Failure) {
    var sent = 0
    while sent < bytes.count {
      switch bytes.withUnsafeBytes({ transport.send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
      case .bytes(let count): sent += count
      case .wouldBlock: try wait(for: POLLOUT, transport.descriptor, deadline)
      case .ended, .failed: throw Failure(reason: "the connection was lost")
      }
    }
  }

  private func wait(for events: Int32, _ descriptor: Int32, _ deadline: MonotonicTime) throws(Failure) {
    let left = MonotonicTime.now().duration(to: deadline)
    let milliseconds = left.components.seconds * 1_000 + left.components.attoseconds / 1_000_000_000_000_000
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    guard milliseconds > 0, poll(&entry, 1, Int32(milliseconds)) != 0 else {
      throw Failure(reason: "there is no answer within \(Self.timeout.components.seconds) s")
    }
  }

  private static func request(
    _ url: HTTPSURL, _ fields: [(name: String, value: String)], _ body: [UInt8]?
  ) -> [UInt8] {
    let own = [("Host", url.authority), ("Connection", "close"), ("Accept-Encoding", "identity")]
    let form = body.map { [("Content-Type", FormFields.contentType), ("Content-Length", "\($0.count)")] } ?? []
    let lines = (own + form + fields).map { "\($0.0): \($0.1)\r\n" }.joined()
    return Array("\(body == nil ? "GET" : "POST") \(url.target) HTTP/1.1\r\n\(lines)\r\n".utf8) + (body ?? [])
  }
}

/// An https URL in the parts that a request needs. No user, no fragment.
package struct HTTPSURL: Sendable, Hashable, CustomStringConvertible {
  package static let maximumBytes = 2_048

  package let authority: String
  let host: String
  let port: UInt16
  /// Path and query.
  let target: String

  package var description: String { "https://\(authority)\(target == "/" ? "" : target)" }

  package init?(_ text: String) {
    let scheme = "https://"
    guard text.utf8.count <= Self.maximumBytes, text.hasPrefix(scheme),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"#<>\\^`{|}".utf8.contains($0) })
    else { return nil }
    let rest = text.dropFirst(scheme.count)
    let name = rest.prefix { $0 != "/" && $0 != "?" }
    guard let authority = HTTPAuthority(name), !authority.host.isEmpty else { return nil }
    let target = rest[name.endIndex...]
    (host, port, self.authority) = (authority.host, authority.port ?? HTTPAuthority.Scheme.https.port, String(name))
    self.target = target.hasPrefix("/") ? String(target) : "/\(target)"
  }

  var hostWithoutBrackets: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }
}
